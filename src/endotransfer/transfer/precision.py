"""Losses and sums run over many thousand pixels: half precision would lose most of them."""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """Half-precision values as float32; float32 and float64 as they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
