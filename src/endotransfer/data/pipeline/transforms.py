"""Augmentation of a training image: one random geometry for the image and for every map that belongs to it."""

from torch import Tensor
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.colour_change import blurred, recoloured
from endotransfer.data.pipeline.random_change import Window, draw_change, output_size
from endotransfer.label_values import IGNORE

REGIONS = "superpixels"  # the map whose values are numbers of regions; every other map holds classes


def augment_image(
    settings: AugmentConfig, image: Tensor, maps: dict[str, Tensor], seed: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """`image` uint8 [3, H, W] and `maps` of integers [H, W] under the random change that `seed` stands for."""
    height, width = image.shape[-2:]
    change, size = draw_change(settings, height, width, seed), output_size(settings, height, width)
    warped = {name: warp_map(tensor, change.window, size, name) for name, tensor in maps.items()}
    image = _warp(image, change.window, size, 0, InterpolationMode.BILINEAR)
    if change.recolours:
        image = recoloured(image, change)
    return image if change.sigma is None else blurred(image, change.sigma), warped


def warp_map(tensor: Tensor, window: Window, size: tuple[int, int], name: str) -> Tensor:
    """A map [H, W] under `window`.  Outside the image pixels are unlabelled, or one more region."""
    outside = int(tensor.max()) + 1 if name == REGIONS else IGNORE
    # "Exact": pixel centres, as the image's own interpolation has them; plain nearest is off by half a pixel.
    return _warp(tensor[None], window, size, outside, InterpolationMode.NEAREST_EXACT)[0]


def _warp(
    tensor: Tensor, window: Window, size: tuple[int, int], outside: int, interpolation: InterpolationMode
) -> Tensor:
    """[C, h, w] -> [C, H, W]: the window cut out, brought to `size` and mirrored."""
    if (window.height, window.width) != tensor.shape[-2:]:
        tensor = _cut(tensor, window, outside)
    if size != tensor.shape[-2:]:
        tensor = F.resize(tensor, list(size), interpolation=interpolation, antialias=True)
    if window.mirror:
        tensor = F.horizontal_flip(tensor)
    return F.vertical_flip(tensor) if window.upend else tensor


def _cut(tensor: Tensor, window: Window, outside: int) -> Tensor:
    """The window's pixels [C, h, w], `outside` where it leaves the image."""
    height, width = tensor.shape[-2:]
    right, bottom = window.left + window.width - width, window.top + window.height - height
    border = [max(0, -window.left), max(0, -window.top), max(0, right), max(0, bottom)]
    if any(border):
        tensor = F.pad(tensor, border, fill=outside)
    cut: Tensor = F.crop(tensor, max(0, window.top), max(0, window.left), window.height, window.width)
    return cut
