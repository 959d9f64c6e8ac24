"""What a tag and a lesion's size say of a map of lesion probabilities (CDWS: Jia, Huang, Chang, Xu, "Constrained Deep
Weak Supervision for Histopathology Image Segmentation", IEEE TMI 2017).

Maps come as log p [B, M, H, W], M of them for each image; each image's terms are summed over its maps.
"""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, UNKNOWN_TAG, at_least_float32
from endotransfer.distributed import global_mean

SUREST = -1e-30  # the largest log of a score whose complement still has a finite logarithm and gradient


def log_generalised_mean(log_p: Tensor, exponent: float) -> Tensor:
    """log of (mean over pixels of p^r)^(1/r): log p [B, M, H, W] -> [B, M].  r = 1: the mean; r large: the maximum.

    Precise at both ends: with the largest p factored out no mean vanishes, and no score below 1 is rounded to 1.
    """
    log_p = at_least_float32(log_p).flatten(2)
    largest = log_p.detach().amax(2, keepdim=True)  # any constant cancels, so it needs no gradient
    scaled = exponent * (log_p - largest)
    few_stand_out = scaled.exp().mean(2).log()
    all_alike = torch.log1p(torch.expm1(scaled).mean(2).clamp(min=-0.5))
    log_mean = torch.where(few_stand_out < -0.5, few_stand_out, all_alike)
    return largest.squeeze(2) + log_mean / exponent


def mil_loss(log_score: Tensor, tags: Tensor) -> Tensor:
    """Multiple-instance learning: -[c log Y + (1 - c) log(1 - Y)], log Y [B, M], tags c [B]; tagged images' mean."""
    log_score = log_score.clamp(max=SUREST)
    log_complement = torch.log(-torch.expm1(log_score))
    terms = -torch.where((tags == LESION)[:, None], log_score, log_complement)
    tagged = tags != UNKNOWN_TAG
    return global_mean(torch.where(tagged[:, None], terms, 0).sum(), tagged.sum())


def area_loss(log_p: Tensor, tags: Tensor, areas: Tensor, weights: tuple[float, ...]) -> Tensor:
    """(mean p - a)^2 of images tagged lesion: log p [B, M, H, W], areas a [B], a weight for each map; their mean."""
    predicted = at_least_float32(log_p).exp().mean((2, 3))
    squared = (predicted - areas.to(predicted.dtype)[:, None]) ** 2
    of_image = torch.stack([weight * term for weight, term in zip(weights, squared.unbind(1), strict=True)]).sum(0)
    positive = tags == LESION
    return global_mean(torch.where(positive, of_image, 0).sum(), positive.sum())


def lesion_fractions(masks: Tensor) -> tuple[Tensor, Tensor]:
    """The share of lesion in each mask's labelled pixels [M], and whether there is any labelled pixel [M]."""
    labelled = masks != IGNORE
    lesion = labelled & (masks >= LESION)
    count = labelled.sum((1, 2))
    return lesion.sum((1, 2)) / count.clamp(min=1), count > 0
