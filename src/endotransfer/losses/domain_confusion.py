"""Domain confusion cell by cell, as in NMD and in FCNs in the Wild: what critics and encoder make of the same scores.

A critic gives each cell two logits, of "source" and of "target".  All losses take a pair, source then target, of scores
[B, 2, h, w]; the domains count half each, whatever the sizes of their batches.  `weights`, a pair of [B, h, w], make an
image's loss the weighted mean over its cells: sum w CE / (sum w + 5e-6); an image without weight counts as 0.
"""

import math

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import adaptive_avg_pool2d

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean

SOURCE, TARGET = 0, 1
SMALLEST = 5e-6  # of the original: keeps the mean of a class that is nowhere from being 0 / 0
Pair = tuple[Tensor, Tensor]  # source, target


def domain_loss(scores: Pair, weights: Pair | None = None) -> Tensor:
    """Cross-entropy with the true domains: what a critic minimises."""
    return _labelled(scores, (SOURCE, TARGET), weights)


def flipped_loss(scores: Pair, weights: Pair | None = None) -> Tensor:
    """Cross-entropy with the domains exchanged: an encoder that minimises it makes the critic err."""
    return _labelled(scores, (TARGET, SOURCE), weights)


def confusion_loss(scores: Pair, weights: Pair | None = None) -> Tensor:
    """The mean of both; least, log 2, where the critic cannot decide."""
    return 0.5 * (domain_loss(scores, weights) + flipped_loss(scores, weights))


def scores_of(critic: Module, features: Pair) -> Pair:
    """A critic's scores of both domains, in one forward: features [B, C, h, w] -> [B, 2, h, w] each."""
    source, target = critic(torch.cat(features)).split([len(domain) for domain in features])
    return source, target


def cell_shares(masks: Tensor, like: Tensor) -> Tensor:
    """The share of each class among the pixels of each cell: masks [B, H, W], `like` [B, K, h, w] -> [B, K, h, w].

    Pixels that nobody labelled belong to no class.  Where H = 8 h this is the average over 8 x 8 pixels.
    """
    classes = torch.arange(like.shape[1], device=masks.device)[:, None, None]
    members = (masks[:, None] == classes).to(torch.promote_types(like.dtype, torch.float32))
    return adaptive_avg_pool2d(members, (like.shape[2], like.shape[3]))


def ramp(done: float, length: float) -> float:
    """2 / (1 + exp(-10 done / length)) - 1: from 0 at the start to nearly 1 when `length` is `done`."""
    return 2 / (1 + math.exp(-10 * done / length)) - 1


def _labelled(scores: Pair, labels: tuple[int, int], weights: Pair | None) -> Tensor:
    source = _cross_entropy(scores[0], labels[0], weights[0] if weights else None)
    return 0.5 * (source + _cross_entropy(scores[1], labels[1], weights[1] if weights else None))


def _cross_entropy(scores: Tensor, label: int, weights: Tensor | None) -> Tensor:
    """-log softmax at `label`: the mean over all cells or, weighted, over images; of all processes either way."""
    cells = -at_least_float32(scores).log_softmax(1)[:, label]
    if weights is not None:
        cells = (weights * cells).sum((1, 2)) / (weights.sum((1, 2)) + SMALLEST)
    return global_mean(cells.sum(), cells.new_full((), cells.numel()))  # a plain number would make a GPU's host wait
