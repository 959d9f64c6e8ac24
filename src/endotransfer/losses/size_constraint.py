"""Size constraints of FCNs in the Wild: how much of an image a class may take, as learnt from the source's masks.

The latent distribution nearest to the prediction that keeps the bounds is found as in CCNN (Pathak, Kraehenbuehl,
Darrell, ICCV 2015), by ascent on the dual of min KL(q || P) subject to lower <= mean q <= upper.
"""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG, at_least_float32
from endotransfer.distributed import global_mean

LOW, HIGH = 0.1, 0.9  # quantiles
FREE = (0.0, 0.0, 1.0)  # alpha, delta, gamma of a class that may have any size
PRESENT = 0.1  # of the low quantile: what a prediction must exceed to say that a class is there
NEVER = -1e4  # the log-probability of a class that must not be
STEP = 2.0  # of the ascent: the dual's curvature is at most that of softmax, 1 / 2


def class_fractions(masks: Tensor, classes: int) -> Tensor:
    """The share of each class in each image's labelled pixels: masks [B, H, W] -> [B, K]; NaN without any label."""
    labelled = (masks != IGNORE).sum((1, 2)).double()
    counts = torch.stack([(masks == k).sum((1, 2)) for k in range(classes)], 1).double()
    return counts / labelled[:, None]


def size_statistics(fractions: Tensor) -> Tensor:
    """alpha (10 %), delta (mean) and gamma (90 %) of a class's fractions where it is found: [N, K] -> [3, K].

    A class that is nowhere is left free.  Where a few huge regions lift the mean above 90 %, gamma is the mean.
    """
    found = torch.where(fractions > 0, fractions, torch.nan)
    alpha, delta, gamma = found.nanquantile(LOW, 0), found.nanmean(0), found.nanquantile(HIGH, 0)
    statistics = torch.stack([alpha, delta, torch.maximum(delta, gamma)])
    return torch.where(statistics.isnan(), statistics.new_tensor(FREE)[:, None], statistics)


def present_classes(logits: Tensor, alpha: Tensor, tags: Tensor | None) -> Tensor:
    """Which classes an image holds: logits [B, K, h, w], alpha [K], tags [B] -> bool [B, K]; at least one.

    A class is there if it is predicted on more than a tenth of alpha.  A tag knows better: normal means class 0 alone,
    lesion means that some lesion is there (if none is predicted, the likeliest) and normal tissue around it.
    """
    kinds = torch.arange(logits.shape[1], device=logits.device)
    fractions = (logits.argmax(1)[..., None] == kinds).to(alpha.dtype).mean((1, 2))
    present = fractions > PRESENT * alpha
    present = present | ~present.any(1, keepdim=True)  # nothing is there: then nothing is forbidden
    if tags is None:
        return present
    tags = tags[:, None]
    likeliest = at_least_float32(logits)[:, LESION:].softmax(1).mean((2, 3)).argmax(1, keepdim=True) + LESION
    some_lesion = present[:, LESION:].any(1, keepdim=True)
    with_lesion = present | (kinds == NORMAL) | (~some_lesion & (kinds == likeliest))
    by_tag = torch.where(tags == NORMAL, kinds == NORMAL, with_lesion)
    return torch.where(tags == UNKNOWN_TAG, present, by_tag)


def size_bounds(present: Tensor, delta: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
    """Lower and upper bounds [B, K] of the mean probabilities; 0 for absent classes.

    Bounds of the present classes that cannot be kept together (upper ones below 1 in sum, lower ones above) are scaled
    until they can.  So the only class of an image must take all of it, whatever its size on the source.
    """
    lower, upper = present * delta, present * gamma
    return lower / lower.sum(1, keepdim=True).clamp(min=1), upper / upper.sum(1, keepdim=True).clamp(max=1)


def size_penalty(logits: Tensor, present: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """Sum over classes of relu(lower - m)^2 + relu(m - upper)^2 where present, m where absent; mean over images.

    m [B, K] is the mean over pixels of softmax(logits [B, K, h, w]).
    """
    mean = at_least_float32(logits).softmax(1).mean((2, 3))
    outside = (lower - mean).relu() ** 2 + (mean - upper).relu() ** 2
    loss = torch.where(present, outside, mean).sum()
    return global_mean(loss, loss.new_full((), len(logits)))


@torch.no_grad()
def latent_distribution(
    logits: Tensor, present: Tensor, lower: Tensor, upper: Tensor, slack: float = 2.0, iterations: int = 50
) -> Tensor:
    """log q* [B, K, h, w]: argmin over q of KL(q || softmax(logits)) with q = 0 for absent classes and bounded means.

    q is proportional to P exp(v), v [B, K] the multiplier of the lower bound (positive) or the upper one (negative).
    Each step follows the gradient of the dual's smooth part, then its proximal map, which keeps v at 0 while a mean is
    inside its bounds.  `slack` caps v: at that price a lower bound may be missed.  Accelerated after Nesterov.
    """
    log_p = at_least_float32(logits).flatten(2)
    log_p = torch.where(present[:, :, None], log_p, NEVER).log_softmax(1)
    value = ahead = torch.zeros_like(lower)
    for k in range(iterations):
        mean = (log_p + ahead[:, :, None]).softmax(1).mean(2)
        moved = ahead - STEP * mean
        last, value = value, ((moved + STEP * lower).relu() - (-moved - STEP * upper).relu()).clamp(max=slack)
        ahead = value + k / (k + 3) * (value - last)
    return (log_p + value[:, :, None]).log_softmax(1).view_as(logits)


def latent_loss(logits: Tensor, log_q: Tensor) -> Tensor:
    """KL(q || softmax(logits)): both [B, K, h, w]; mean over the pixels of all processes."""
    q = log_q.exp()
    loss = (q * (log_q - at_least_float32(logits).log_softmax(1))).sum()
    return global_mean(loss, loss.new_full((), logits.numel() // logits.shape[1]))


def scale_gradient(values: Tensor, factors: Tensor) -> Tensor:
    """`values` [B, K, h, w] as they are, the gradient that comes back through them times `factors` [K]."""
    fixed = values.detach()
    return fixed + (values - fixed) * factors[:, None, None].to(values.dtype)
