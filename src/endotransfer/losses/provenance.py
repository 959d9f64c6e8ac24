"""LSD's terms: whose image is this, and is it a camera's or a decoder's; and how far is a decoded image off."""

from enum import IntEnum

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean


class Provenance(IntEnum):
    """The four cases that LSD's critic tells apart; the values are channels of its scores."""

    SOURCE_REAL = 0
    SOURCE_FAKE = 1
    TARGET_REAL = 2
    TARGET_FAKE = 3


def taken_for(case: Provenance, scores: Tensor) -> Tensor:
    """-E[log softmax(scores)_case], scores [B, 4, h, w]: the mean over all cells and processes."""
    labels = torch.full_like(scores[:, 0], int(case), dtype=torch.long)
    loss = cross_entropy(at_least_float32(scores), labels, reduction="sum")
    return global_mean(loss, loss.new_full((), labels.numel()))


def absolute_error(images: Tensor, originals: Tensor) -> Tensor:
    """L1: the mean of |images - originals| over all values [B, 3, H, W] and processes."""
    error = (at_least_float32(images) - originals).abs()
    return global_mean(error.sum(), error.new_full((), error.numel()))
