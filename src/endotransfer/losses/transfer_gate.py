"""How transferable a cell is: by how little a critic can tell from which domain it comes (Dong et al., CVPR 2020).

A critic's scores are logits of "is target", one a cell: [B, 1, h, w].  A cell that could come from either domain
carries what both share; one that gives its domain away carries what does not transfer.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import interpolate, softplus

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean


@torch.no_grad()
def transferability(scores: Tensor) -> Tensor:
    """Entropy of the critic's decision as a share of the most possible: [B, 1, h, w] -> [B, h, w] in [0, 1].

    H(d) = -d log d - (1 - d) log(1 - d) with d = sigmoid(s), which is softplus(s) - s d.
    """
    scores = at_least_float32(scores).squeeze(1)
    return ((softplus(scores) - scores * scores.sigmoid()) / math.log(2)).clamp(0, 1)


def gate_weights(scores: Tensor, gate: float) -> Tensor:
    """1 - gate (1 - t) with t the transferability, in [1 - gate, 1]: [B, 1, h, w] -> [B, h, w], without gradient.

    With a gate of one half this is the residual attention 1 + t, scaled so that the most is 1.
    """
    return 1 - gate * (1 - transferability(scores))


def weights_at(weights: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """Weights of cells [B, h, w] for the pixels of images of `size` = (H, W): [B, H, W]."""
    return interpolate(weights.unsqueeze(1), size=tuple(size), mode="bilinear", align_corners=False).squeeze(1)


def gated_fooling(scores: Tensor, weights: Tensor) -> Tensor:
    """-E[w log(1 - D(target))] over all cells: scores [B, 1, h, w], weights [B, h, w]; target is to score as source."""
    terms = weights * softplus(at_least_float32(scores).squeeze(1))
    return global_mean(terms.sum(), terms.new_full((), terms.numel()))  # a plain number would make a GPU's host wait
