"""What image-level labels say of a segmenter's classes (Paul, Tsai, Schulter, Roy-Chowdhury, Chandraker, "Domain
Adaptive Semantic Segmentation Using Weak Labels", ECCV 2020).

A weak label says whether a class is in an image, not where: `present` [B, K].  It supervises the image's score of that
class, and says between which images of two domains the class's features are to be aligned.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, at_least_float32
from endotransfer.distributed import global_mean

SOURCE, TARGET = 0.0, 1.0  # what a class critic's scores, logits of "is target", should say


def smooth_max(logits: Tensor, sharpness: float = 1.0) -> Tensor:
    """1/k log(mean over places of exp(k A)): class logits A [B, K, h, w] -> [B, K]; their sigmoid is the image's score.

    k (`sharpness`) leads from the mean, at 0, to the maximum; 1 in the paper, so that no single place decides.
    """
    places = at_least_float32(logits).flatten(2)
    return ((sharpness * places).logsumexp(2) - math.log(places.shape[2])) / sharpness


@torch.no_grad()
def weak_labels(scores: Tensor, tags: Tensor | None, threshold: float = 0.2) -> Tensor:
    """Which classes an image holds: scores [B, K] (`smooth_max`), tags [B] -> bool [B, K].

    Without tags a class counts as present if its own score, a probability, exceeds `threshold` (pseudo-weak labels).
    A tag knows better.  Normal tissue (class 0) is in every image.  Tagged normal: nothing else is.  Tagged lesion:
    the likeliest lesion is there, and whichever other kinds exceed the threshold.
    """
    likely = at_least_float32(scores).sigmoid() > threshold
    if tags is None:
        return likely
    tags, kinds = tags[:, None], torch.arange(scores.shape[1], device=scores.device)
    found = likely | (kinds == NORMAL)
    likeliest = scores[:, LESION:].argmax(1, keepdim=True) + LESION
    tagged = torch.where(tags == NORMAL, kinds == NORMAL, found | (kinds == likeliest))
    return torch.where(tags == UNKNOWN_TAG, found, tagged)


def weak_label_loss(scores: Tensor, present: Tensor) -> Tensor:
    """L_c: -[y log p + (1 - y) log(1 - p)], p = sigmoid(scores [B, K]), y = present [B, K]; mean over both."""
    scores = at_least_float32(scores)
    loss = binary_cross_entropy_with_logits(scores, present.to(scores.dtype), reduction="sum")
    return global_mean(loss, loss.new_full((), scores.numel()))  # a plain number would make a GPU's host wait


def attention_pooling(features: Tensor, logits: Tensor) -> Tensor:
    """F^k = sum over places of softmax(A_k) F: features F [B, C, h, w], logits A [B, K, h, w] -> [B, K, C].

    The softmax runs over the places of an image, so that each class is described by where it is predicted.  It gets no
    gradient: features are to look alike, and predictions not to move where they do.
    """
    attention = at_least_float32(logits.detach()).flatten(2).softmax(2)
    return torch.einsum("bkp,bcp->bkc", attention, at_least_float32(features).flatten(2))


def class_fooling_loss(scores: Tensor, present: Tensor) -> Tensor:
    """What the segmenter minimises: class features of the target, scored [B, K], are to pass for source."""
    return _scored_as(SOURCE, scores, present)


def class_critic_loss(source: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor]) -> Tensor:
    """What the class critics minimise; each domain is a pair of scores and `present`, both [B, K], and counts half."""
    return 0.5 * (_scored_as(SOURCE, *source) + _scored_as(TARGET, *target))


def _scored_as(domain: float, scores: Tensor, present: Tensor) -> Tensor:
    """Binary cross-entropy of the classes that are present: their mean in each image, then over images that have any.

    A class that is absent has no features worth the name: its attention lies wherever it is least unlikely.
    """
    scores = at_least_float32(scores)
    wrong = binary_cross_entropy_with_logits(scores, torch.full_like(scores, domain), reduction="none")
    count = present.sum(1)
    by_image = torch.where(present, wrong, 0).sum(1) / count.clamp(min=1)
    return global_mean(by_image.sum(), (count > 0).sum())
