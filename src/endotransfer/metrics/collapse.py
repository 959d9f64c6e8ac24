"""Models that answer the same everywhere, or hit nothing: real figures, which say nothing of what was learned."""

from collections.abc import Sequence

from endotransfer.metrics.counts import Counts
from endotransfer.metrics.figure import Figure, register
from endotransfer.metrics.rates import lesion_confusion
from endotransfer.metrics.scored_images import ScoredImages

NO_LESION, ALL_LESION = "predicts no lesion at all", "paints every image"
ALL_BESIDE = "hits no lesion: all that it paints lies beside them"
ALMOST = 0.01  # of the pixels that a class truly has: fewer predicted ones are as good as none


def collapse(total: Counts, classes: Sequence[str], lesions: bool) -> str | None:
    """What a model does that predicts (almost) one class everywhere, or no pixel of any lesion; None: neither.

    `total`: its summed matrix [K, K].

    Where the truth has one class alone, predicting no other is right.
    """
    matrix = lesion_confusion(total) if lesions else total
    true, predicted = matrix.sum(-1), matrix.sum(-2)
    if (true > 0).sum() < 2:
        return None
    if lesions:
        said = _of_lesions(predicted[0] / true[0], predicted[1] / true[1])
        return said or (ALL_BESIDE if matrix[1, 1] == 0 else None)
    found = [name for name, pixels in zip(classes, predicted, strict=True) if pixels]
    return f"predicts nothing but {found[0]}" if len(found) == 1 else None


def _of_lesions(normal: float, lesion: float) -> str | None:
    """Predicted pixels as a share of the true ones, of normal tissue and of lesions."""
    if lesion == 0:
        return NO_LESION
    if normal == 0:
        return ALL_LESION
    if lesion < ALMOST:
        return f"predicts almost no lesion (under {ALMOST:.0%} of the pixels that are)"
    return (
        f"paints almost all of every image (under {ALMOST:.0%} of what is normal is left)" if normal < ALMOST else None
    )


def collapsed(scores: ScoredImages) -> str | None:
    return collapse(scores.total, scores.classes, scores.lesions)


register(
    Figure(name="collapsed", label="collapsed", compute=collapsed, unit="text", by_finding=False, order=95),
)
