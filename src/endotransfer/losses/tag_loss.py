"""Beyond the paper: what an image's tag says about its pixels.

A target image tagged normal has no lesion pixel, one tagged lesion has at least one.  The paper spends
these tags on the classifier alone and lets pseudo-labels contradict them.
"""

import math

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, at_least_float32
from endotransfer.distributed import global_mean
from endotransfer.losses.lesion_odds import lesion_score


def tag_loss(logits: Tensor, tags: Tensor, labels: Tensor | None = None, top_share: float = 0.05) -> Tensor:
    """Pixels supervised by tags [B]: logits [B, K, H, W], K >= 2, class 0 is normal; labels [B, H, W].

    Tagged normal: -log p(normal), the mean over pixels without a label (over all, without `labels`).
    Tagged lesion: -log of the mean lesion probability of the surest `top_share` of the image's pixels
    (multiple-instance learning: some pixels must be lesion, which ones is not said).  Untagged images count
    in neither.
    """
    logits = at_least_float32(logits)
    log_all = logits.logsumexp(1)
    log_normal = logits[:, NORMAL] - log_all
    # A lesion of any kind: 1 - p(normal), without the subtraction that would round to 0.
    log_lesion = logits[:, LESION:].logsumexp(1) - log_all

    open_pixels = torch.ones_like(log_all, dtype=torch.bool) if labels is None else labels == IGNORE
    open_pixels = open_pixels & (tags == NORMAL).view(-1, 1, 1)
    on_normal = -torch.where(open_pixels, log_normal, 0).sum()

    tagged = tags == LESION
    on_lesion = -torch.where(tagged, _log_mean_of_top(log_lesion.flatten(1), top_share), 0).sum()
    return global_mean(on_normal, open_pixels.sum()) + global_mean(on_lesion, tagged.sum())


def missed_lesion_loss(logits: Tensor, tags: Tensor, top_share: float = 0.01) -> Tensor:
    """How far images tagged lesion are from showing one: logits [B, K, H, W], K >= 2, class 0 is normal; tags [B].

    max(0, -the mean log-odds of a lesion of any kind at the surest `top_share` of the image's pixels), the mean over
    images tagged lesion.  Unlike `tag_loss` it is silent once these pixels, on average, are lesion rather than normal:
    it finds a lesion, and enlarges only one that is smaller than that.
    """
    places = lesion_score(at_least_float32(logits)).flatten(1)
    surest = places.topk(max(1, math.ceil(top_share * places.shape[1])), sorted=False).values.mean(1)
    tagged = tags == LESION
    return global_mean(torch.where(tagged, (-surest).relu(), 0).sum(), tagged.sum())


def _log_mean_of_top(log_values: Tensor, share: float) -> Tensor:
    """log(mean(the largest `share` of exp(log_values [B, N]))), [B], without leaving log space."""
    count = max(1, math.ceil(share * log_values.shape[1]))
    return log_values.topk(count, sorted=False).values.logsumexp(1) - math.log(count)
