"""Where classes meet: the targets of DFN's border network (Yu, Wang, Peng, Gao, Yu, Sang, "Learning a Discriminative
Feature Network for Semantic Segmentation", CVPR 2018)."""

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from endotransfer.batch import IGNORE


def border_targets(labels: Tensor, width: int = 7) -> Tensor:
    """Labels [B, H, W] -> 1 at borders, 0 elsewhere, IGNORE where unlabelled, [B, H, W] int64.

    An edge is a labelled pixel with a labelled pixel of another class among its eight neighbours; a border is all that
    lies in the `width` x `width` square (odd) around an edge.  Unlabelled pixels neither make an edge nor are border.
    """
    labels = labels.long()  # unsigned ones have no negatives
    labelled = labels != IGNORE
    highest = _largest_around(torch.where(labelled, labels, -1), 3)
    lowest = -_largest_around(torch.where(labelled, -labels, -IGNORE), 3)
    edges = labelled & (highest > lowest)  # of its own class a labelled pixel sees at least itself
    borders = _largest_around(edges, width).long()
    return torch.where(labelled, borders, IGNORE)


def _largest_around(values: Tensor, width: int) -> Tensor:
    """The maximum [B, H, W] in the square around each pixel; small integers, exact in single precision."""
    return max_pool2d(values.float(), width, stride=1, padding=width // 2)
