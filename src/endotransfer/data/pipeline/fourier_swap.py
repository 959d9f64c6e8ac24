"""Fourier domain adaptation (Yang and Soatto, CVPR 2020, Eqs. 1 to 3): one image with another's low frequencies."""

import math

import torch
from torch import Tensor

from endotransfer.batch import at_least_float32


def swap_low_frequencies(source: Tensor, target: Tensor, beta: float) -> Tensor:
    """Source images with the low-frequency amplitudes of target images: [B, 3, H, W] in [0, 1] each -> the same.

    The amplitude is swapped for frequencies (u, v) with |u|, |v| <= floor(beta min(H, W)), a square about the zero
    frequency.  At half-width 0 that is the zero frequency alone: each channel's mean becomes the target's.  The
    phase stays the source's everywhere.  The result is clamped to [0, 1].
    """
    source, target = at_least_float32(source), at_least_float32(target)
    height, width = source.shape[-2:]
    half_width = math.floor(beta * min(height, width))
    # The spectrum of a real image is symmetric: the half with v >= 0 is enough.
    spectrum, other = torch.fft.rfft2(source), torch.fft.rfft2(target)
    rows = torch.fft.fftfreq(height, 1 / height, dtype=torch.float64, device=source.device).round().abs()
    columns = torch.fft.rfftfreq(width, 1 / width, dtype=torch.float64, device=source.device).round()
    low = (rows <= half_width).unsqueeze(1) & (columns <= half_width)
    spectrum = torch.where(low, torch.polar(other.abs(), spectrum.angle()), spectrum)
    swapped: Tensor = torch.fft.irfft2(spectrum, s=(height, width)).clamp(0, 1)
    return swapped


def partners(masked: int, tag_only: int, targets: int) -> list[int]:
    """Which of a batch's target images each source image is paired with; the masked source images come first.

    Each kind of source image is spread evenly over the targets.  Every stream of a batch is split into contiguous parts
    of equal length, and partners then lie in the same part: however many processes share a batch, its pairs are the
    same.  (The index modulo the number of targets would not do: a batch of 4 and 2, halved, has other pairs.)
    """
    first = [index * targets // masked for index in range(masked)]
    # From the end of each span, so that masked and tag-only images between them meet more of the targets.
    return first + [((index + 1) * targets - 1) // tag_only for index in range(tag_only)]
