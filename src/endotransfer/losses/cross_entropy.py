"""Equations 2 and 3: cross-entropy on tags and on pixels, for one domain.  Nothing labelled gives 0."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from endotransfer.batch import IGNORE, LESION, UNKNOWN_TAG, at_least_float32
from endotransfer.distributed import global_mean

Reduction = Literal["mean", "image_mean", "sum"]


def classification(tag_logits: Tensor, tags: Tensor) -> Tensor:
    """One half of Eq. 2: tag_logits [B, 2] against tags [B]; UNKNOWN_TAG is passed over."""
    loss = cross_entropy(at_least_float32(tag_logits), tags, ignore_index=UNKNOWN_TAG, reduction="sum")
    return global_mean(loss, (tags != UNKNOWN_TAG).sum())


def segmentation(
    logits: Tensor,
    labels: Tensor,
    reduction: Reduction = "mean",
    weights: Tensor | None = None,
) -> Tensor:
    """One half of Eq. 3: logits [B, K, H, W] against labels [B, H, W] (any integers); IGNORE is passed over.

    `mean` is over labelled pixels; `sum` is Eq. 3 to the letter: the expectation over images of sums over pixels;
    `image_mean` divides that by the pixels of an image: on sparse pseudo-labels it weighs as little as Eq. 3 says.
    `weights`, by class [K] or by pixel [B, H, W], scale each pixel's term and not the divisor: a weight of
    one half everywhere halves the loss.
    """
    # PAPER: Eq. 3 sums over pixels; L_S is then 1e4 to 1e5 and drowns every other term: hence `mean`.
    labels = labels.long()
    terms = cross_entropy(at_least_float32(logits), labels, ignore_index=IGNORE, reduction="none")
    labelled = labels != IGNORE
    if weights is not None:
        by_pixel = weights[torch.where(labelled, labels, 0)] if weights.ndim == 1 else weights
        terms = terms * by_pixel.to(terms.dtype)
    if reduction == "mean":
        return global_mean(terms.sum(), labelled.sum())
    # `new_full`: a plain number copied to a GPU would make the host wait.
    return global_mean(terms.sum(), terms.new_full((), len(labels) if reduction == "sum" else labels.numel()))


def segmentation_by_tag(logits: Tensor, labels: Tensor, tags: Tensor) -> Tensor:
    """Beyond the paper: Eq. 3 with a say for each kind of image, not for each pixel.

    The mean over labelled pixels of each image, then over the images tagged lesion, and likewise over the others; both
    are added.  (One mean over all pixels is mostly of normal images, which are labelled everywhere.)  Logits
    [B, K, H, W], labels [B, H, W], tags [B]; an image without a label does not count.
    """
    labels = labels.long()
    terms = cross_entropy(at_least_float32(logits), labels, ignore_index=IGNORE, reduction="none")
    labelled = (labels != IGNORE).flatten(1).sum(1)
    by_image = terms.flatten(1).sum(1) / labelled.clamp(min=1)
    lesion, counts = tags == LESION, labelled > 0
    kinds = (counts & lesion, counts & ~lesion)
    first, second = (global_mean(torch.where(kind, by_image, 0).sum(), kind.sum()) for kind in kinds)
    return first + second
