"""Augmentation of a whole batch at once, on the device where it lies."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.colour_change import blurred, recoloured_batch
from endotransfer.data.pipeline.random_change import Window, draw_change, output_size
from endotransfer.label_values import IGNORE


def augment_batch(
    settings: AugmentConfig, images: Tensor, maps: dict[str, Tensor], seeds: Sequence[int]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Images uint8 [B, 3, H, W] and maps of classes uint8 [B, H, W], each augmented by its own seed.

    Equals `augment_image` image by image to within a grey level; only at the edge of a zoomed window does this
    interpolate with the neighbours beyond it, which a crop has cut away.
    """
    height, width = images.shape[-2:]
    changes = [draw_change(settings, height, width, seed) for seed in seeds]
    grid = _grid([change.window for change in changes], images, output_size(settings, height, width))
    maps = {name: _sample_map(labels, grid) for name, labels in maps.items()}
    pixels = grid_sample(images.float(), grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    if any(change.recolours for change in changes):
        pixels = recoloured_batch(pixels, changes)
    images = pixels.round_().clamp_(0, 255).to(torch.uint8)
    for index, change in enumerate(changes):
        if change.sigma is not None:
            images[index] = blurred(images[index], change.sigma)
    return images, maps


def _grid(windows: Sequence[Window], images: Tensor, size: tuple[int, int]) -> Tensor:
    """Where each pixel of the new images, of `size` (H, W), comes from: [B, H, W, 2] in coordinates from -1 to 1."""
    height, width = images.shape[-2:]
    rows = [
        (*_axis(one.left, one.width, width, flipped=one.mirror), *_axis(one.top, one.height, height, flipped=one.upend))
        for one in windows
    ]
    across, left, down, top = torch.tensor(rows).unbind(1)
    zero = torch.zeros_like(across)
    theta = torch.stack([torch.stack([across, zero, left], 1), torch.stack([zero, down, top], 1)], 1)
    theta = theta.to(images.device, non_blocking=True)
    return affine_grid(theta, [len(windows), 1, *size], align_corners=False)


def _axis(first: int, length: int, whole: int, *, flipped: bool) -> tuple[float, float]:
    """Slope and offset of the line from a new coordinate in [-1, 1] to an old one."""
    slope = length / whole
    return (-slope if flipped else slope), (2 * first + length) / whole - 1


def _sample_map(labels: Tensor, grid: Tensor) -> Tensor:
    """The nearest label; IGNORE outside.  Shifted, because outside is 0 for `grid_sample`."""
    shifted = labels.unsqueeze(1).float() - IGNORE
    taken = grid_sample(shifted, grid, mode="nearest", padding_mode="zeros", align_corners=False)
    return (taken.squeeze(1) + IGNORE).to(labels.dtype)
