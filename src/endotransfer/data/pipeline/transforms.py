"""Random changes of a training image, with one geometry for it and for every map that belongs to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, exp, log, pi, sin
from random import Random

import torch
from torch import Tensor
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

from endotransfer.batch import IGNORE

REGIONS = "superpixels"  # the map whose values are names of regions; every other map holds classes
HUE_SHARE = 0.1  # hue turns far less than brightness does: redness is what tells blood from mucosa
BLUR_SIGMA = (0.3, 1.5)  # pixels


@dataclass(frozen=True)
class Window:
    """The part of an image that becomes the new image, in pixels of the old one; it may reach outside."""

    top: int
    left: int
    height: int
    width: int
    mirror: bool
    upend: bool


@dataclass(frozen=True)
class Change:
    """What one draw of the dice does to one image."""

    window: Window
    brightness: float
    contrast: float
    saturation: float
    turn: float  # of the hue, an angle
    sigma: float | None  # of a blur

    @property
    def recolours(self) -> bool:
        return (self.brightness, self.contrast, self.saturation, self.turn) != (1, 1, 1, 0)


@dataclass(frozen=True)
class Augment:
    """What may happen to a training image; the fields are those of the experiment's `training.augment`."""

    flip_horizontal: bool = True
    flip_vertical: bool = True
    scale: tuple[float, float] = (
        1.0,
        1.0,
    )  # zoom: 2 shows a random quarter of the image, 0.5 all of it in a border
    crop: tuple[int, int] | None = None  # size of the new image, whose place is random; None: as large as the old one
    colour: float = 0.0  # strength of brightness, contrast, saturation and hue jitter
    blur: float = 0.0  # probability of a Gaussian blur

    def __call__(self, image: Tensor, maps: dict[str, Tensor], seed: int) -> tuple[Tensor, dict[str, Tensor]]:
        """`image` uint8 [3, H, W] and `maps` of integers [H, W], changed as `seed` says and in no other way."""
        height, width = image.shape[-2:]
        change, size = self.draw(height, width, seed), self.size_of(height, width)
        warped = {name: _warp_map(tensor, change.window, size, name) for name, tensor in maps.items()}
        image = _warp(image, change.window, size, 0, InterpolationMode.BILINEAR)
        if change.recolours:
            image = _recoloured(image, change)
        return image if change.sigma is None else blurred(image, change.sigma), warped

    def size_of(self, height: int, width: int) -> tuple[int, int]:
        """(H, W) of what becomes of an image of that size."""
        return self.crop or (height, width)

    def draw(self, height: int, width: int, seed: int) -> Change:
        """What `seed` says happens to an image [3, H, W].

        Own random numbers, so that training's global generators stay where they are; and always as many,
        so that switching on colour leaves the geometry as it was.
        """
        dice = Random(seed)
        window = self._window(height, width, dice)
        brightness, contrast, saturation, hue = (self.colour * (2 * dice.random() - 1) for _ in range(4))
        is_blurred, softness = dice.random() < self.blur, dice.random()
        low, high = BLUR_SIGMA
        sigma = low + softness * (high - low) if is_blurred else None
        return Change(window, 1 + brightness, 1 + contrast, 1 + saturation, 2 * pi * HUE_SHARE * hue, sigma)

    def _window(self, height: int, width: int, dice: Random) -> Window:
        mirror, upend = dice.random() < 0.5, dice.random() < 0.5
        low, high = self.scale
        zoom = exp(log(low) + dice.random() * (log(high) - log(low)))  # halving is as likely as doubling
        new_height, new_width = self.size_of(height, width)
        tall, wide = max(1, round(new_height / zoom)), max(1, round(new_width / zoom))
        top, left = round(dice.random() * (height - tall)), round(dice.random() * (width - wide))
        return Window(top, left, tall, wide, mirror and self.flip_horizontal, upend and self.flip_vertical)


def blurred(image: Tensor, sigma: float) -> Tensor:
    """A Gaussian blur of [3, H, W]."""
    radius = min(ceil(3 * sigma), min(image.shape[-2:]) - 1)
    return F.gaussian_blur(image, kernel_size=[2 * radius + 1] * 2, sigma=[sigma] * 2)


GREY = torch.tensor([0.299, 0.587, 0.114])  # how bright each colour looks
CHROMA = torch.tensor([[0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])  # the two axes of colour beside brightness
TO_CHROMA = torch.cat([GREY[None], CHROMA])
FROM_CHROMA = torch.linalg.inv(TO_CHROMA)


def colour_matrices(changes: Sequence[Change]) -> Tensor:
    """Brightness, contrast, saturation and hue of each change as ONE matrix on colours, [B, 3, 3].

    torchvision has these changes one by one, its hue by way of HSV; together they take ten times as long, and colour
    was what kept a GPU waiting.  Changes of saturation and hue leave greys as they are, so all four are one matrix
    and one offset (`contrast_offset`), around the image's mean grey.
    """
    rotations = torch.tensor([[[1, 0, 0], *_turned(change.turn, change.saturation)] for change in changes])
    strengths = torch.tensor([change.brightness * change.contrast for change in changes])
    return strengths.view(-1, 1, 1) * (FROM_CHROMA @ rotations @ TO_CHROMA)


def _turned(turn: float, saturation: float) -> list[list[float]]:
    """The lower rows of a rotation around the axis of greys, stretched."""
    across, along = saturation * cos(turn), saturation * sin(turn)
    return [[0, across, -along], [0, along, across]]


def contrast_offset(change: Change) -> float:
    """How much of the image's mean grey is added to every colour."""
    return (1 - change.contrast) * change.brightness


def _recoloured(image: Tensor, change: Change) -> Tensor:
    """uint8 [3, H, W] with its colours changed."""
    pixels = image.flatten(1).float()
    offset = contrast_offset(change) * (GREY @ pixels.mean(1))
    return (colour_matrices([change])[0] @ pixels + offset).round_().clamp_(0, 255).to(torch.uint8).view_as(image)


def _warp_map(tensor: Tensor, window: Window, size: tuple[int, int], name: str) -> Tensor:
    """A map [H, W] under `window`.  Outside the image nothing is labelled, and lies a region of its own."""
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
    return F.crop(tensor, max(0, window.top), max(0, window.left), window.height, window.width)
