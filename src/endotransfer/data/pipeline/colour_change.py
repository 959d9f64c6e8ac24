"""Brightness, contrast, saturation and hue of an augmentation as one matrix and one offset; and its blur."""

from collections.abc import Sequence
from math import ceil, cos, sin

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from endotransfer.data.pipeline.random_change import Change
from endotransfer.data.pipeline.to_device import like

GREY = torch.tensor([0.299, 0.587, 0.114])  # how bright each colour looks
CHROMA = torch.tensor([[0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])  # the two axes of colour beside brightness
TO_CHROMA = torch.cat([GREY[None], CHROMA])
FROM_CHROMA = torch.linalg.inv(TO_CHROMA)


def colour_matrices(changes: Sequence[Change]) -> Tensor:
    """Brightness, contrast, saturation and hue of each change as ONE matrix on colours, [B, 3, 3].

    torchvision applies them one by one, and hue by way of HSV, which takes ten times as long and kept a GPU waiting.
    Saturation and hue leave greys unchanged, so all four together are one matrix and one offset (`contrast_offset`)
    around the image's mean grey.
    """
    # Of the constants' type: in a run in double precision numbers become float64 unless told.
    rotations = GREY.new_tensor([[[1, 0, 0], *_turned(change.turn, change.saturation)] for change in changes])
    strengths = GREY.new_tensor([change.brightness * change.contrast for change in changes])
    matrices: Tensor = strengths.view(-1, 1, 1) * (FROM_CHROMA @ rotations @ TO_CHROMA)
    return matrices


def _turned(turn: float, saturation: float) -> list[list[float]]:
    """The lower rows of a rotation around the axis of greys, stretched."""
    across, along = saturation * cos(turn), saturation * sin(turn)
    return [[0, across, -along], [0, along, across]]


def contrast_offset(change: Change) -> float:
    """How much of the image's mean grey is added to every colour."""
    return (1 - change.contrast) * change.brightness


def recoloured(image: Tensor, change: Change) -> Tensor:
    """uint8 [3, H, W] with its colours changed."""
    pixels = image.flatten(1).float()
    offset = contrast_offset(change) * (GREY @ pixels.mean(1))
    return (colour_matrices([change])[0] @ pixels + offset).round_().clamp_(0, 255).to(torch.uint8).view_as(image)


def recoloured_batch(images: Tensor, changes: Sequence[Change]) -> Tensor:
    """Images [B, 3, H, W] of floats, each with its own change: one matrix and one offset an image, not clamped."""
    matrices = like(colour_matrices(changes), images)
    offsets = like(torch.tensor([contrast_offset(change) for change in changes]), images)
    colours = images.flatten(2)
    grey = (colours.mean(2) * like(GREY, images)).sum(1)
    return torch.baddbmm((offsets * grey).view(-1, 1, 1), matrices, colours).view_as(images)


def blurred(image: Tensor, sigma: float) -> Tensor:
    """A Gaussian blur of [3, H, W]."""
    radius = min(ceil(3 * sigma), min(image.shape[-2:]) - 1)
    smooth: Tensor = F.gaussian_blur(image, kernel_size=[2 * radius + 1] * 2, sigma=[sigma] * 2)
    return smooth
