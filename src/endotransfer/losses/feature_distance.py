"""Feature distance of DAFormer (Hoyer, Dai, Van Gool, CVPR 2022): on things, features stay near those of ImageNet."""

from collections.abc import Sequence

import torch
from torch import Tensor

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean
from endotransfer.losses.domain_confusion import cell_shares

LEAST_SHARE = 0.75  # of a cell's pixels that one thing has to cover, as in the original


def thing_cells(masks: Tensor, like: Tensor, things: Sequence[int]) -> Tensor:
    """The cells that one class of `things` covers by three quarters: masks [B, H, W], `like` [B, K, h, w] -> [B, h, w].

    Pixels that nobody labelled belong to none.
    """
    shares = cell_shares(masks, like)
    # Slices in place of a list of numbers, whose copy to a GPU would make the host wait.
    return torch.stack([shares[:, thing] >= LEAST_SHARE for thing in things]).any(0)


def feature_distance(features: Tensor, fixed: Tensor, cells: Tensor) -> Tensor:
    """Mean of |F - F_ImageNet|_2 over `cells` [B, h, w], the norm over channels: features and fixed [B, C, h, w]."""
    distance = torch.linalg.vector_norm(at_least_float32(features) - at_least_float32(fixed), dim=1)
    return global_mean(distance.where(cells, 0).sum(), cells.sum())
