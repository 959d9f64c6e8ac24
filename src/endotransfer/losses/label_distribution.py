"""Global label distributions (Zhang, David, Gong, "Curriculum Domain Adaptation", ICCV 2017): how much of an image each
class covers, and how far a prediction is from that."""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, at_least_float32
from endotransfer.distributed import global_mean


def label_distributions(masks: Tensor, classes: int) -> Tensor:
    """Masks [B, H, W] -> shares [B, K] of the labelled pixels; all 0 where no pixel is labelled."""
    labels = masks.flatten(1).long()
    counts = counts_by_row(labels.where(labels != IGNORE, classes), classes + 1)[:, :classes]
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


def sharpened_log_distribution(logits: Tensor, sharpness: float = 5.0) -> Tensor:
    """log of the mean over pixels of (p / max p)^sharpness, made to sum to 1: logits [B, K, h, w] -> [B, K].

    The power makes each pixel vote for its likeliest class, and can be differentiated.  All of it in logarithms, where
    nothing overflows: hence no clipping of logits.
    """
    logits = at_least_float32(logits)
    votes = sharpness * (logits - logits.amax(1, keepdim=True))
    return votes.flatten(2).logsumexp(2).log_softmax(1)


def distribution_loss(logits: Tensor, wanted: Tensor, sharpness: float = 5.0) -> Tensor:
    """Cross-entropy -sum_k h_k log q_k of the sharpened prediction q against h = `wanted` [B, K]: mean over images."""
    log_q = sharpened_log_distribution(logits, sharpness)
    loss = -(wanted.to(log_q.dtype) * log_q).sum()
    return global_mean(loss, loss.new_full((), len(wanted)))  # a plain number makes a GPU's host wait


def counts_by_row(values: Tensor, names: int) -> Tensor:
    """How often each of 0 ... names - 1 occurs in each row: integers [B, N] -> [B, names], as float32."""
    ones = torch.ones((), device=values.device).expand(values.shape)  # `bincount` would make a GPU's host wait
    return torch.zeros(len(values), names, device=values.device).scatter_add_(1, values, ones)
