"""Confidence regularisation (Zou, Yu, Liu, Kumar, Wang, ICCV 2019): labels may be wrong, so be less sure of them."""

import math

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, at_least_float32
from endotransfer.distributed import global_mean


def divergence_from_uniform(logits: Tensor, labels: Tensor) -> Tensor:
    """MRKLD's regulariser: the mean of KL(u || p) over the labelled pixels, u = 1 / K, p = softmax(logits).

    KL(u || p) = -log K - (1 / K) sum_k log p_k: 0 where p is uniform, and growing without end as p gets sure.
    Logits [B, K, H, W]; labels [B, H, W], of which only whether they are IGNORE counts; nothing labelled gives 0.
    """
    log_p = at_least_float32(logits).log_softmax(1)
    divergence = -log_p.mean(1) - math.log(logits.shape[1])
    labelled = labels != IGNORE
    return global_mean(torch.where(labelled, divergence, 0).sum(), labelled.sum())
