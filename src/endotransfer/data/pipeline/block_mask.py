"""Blocks of an image hidden at random (Hoyer et al., "MIC", CVPR 2023): the rest has to tell what they show."""

import torch
from torch import Tensor
from torch.nn.functional import interpolate


def block_grid(size: tuple[int, int] | torch.Size, share: float) -> tuple[int, int]:
    """Rows and columns of blocks in an image of `size` (H, W): squares, about `share` of its shorter side."""
    side = max(1, round(share * min(size)))
    return max(1, round(size[0] / side)), max(1, round(size[1] / side))


def hidden_blocks(chances: Tensor, size: tuple[int, int] | torch.Size, ratio: float) -> Tensor:
    """Which pixels are hidden, bool [B, H, W]: those of a block whose chance, [B, rows, columns], is below `ratio`."""
    hidden = (chances < ratio).to(chances.dtype).unsqueeze(1)
    return interpolate(hidden, size=tuple(size), mode="nearest").squeeze(1) > 0
