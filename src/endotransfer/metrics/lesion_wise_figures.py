"""Lesions counted one by one: how many were found, how many were invented."""

import numpy as np

from endotransfer.metrics.counts import Counts
from endotransfer.metrics.figure import Compute, Figure, Unit, register
from endotransfer.metrics.lesion_matches import MIN_COVER, MIN_PIXELS
from endotransfer.metrics.rates import ratio
from endotransfer.metrics.scored_images import ScoredImages

RULE = (
    f"a lesion is an 8-connected component of at least {MIN_PIXELS} pixels; found: at least {MIN_COVER:.0%} "
    "of it predicted; false positive: a predicted component of that size that touches no lesion pixel"
)


def match_counts(scores: ScoredImages) -> Counts:
    """(found, lesions, false positives) of each image: [N, 3]."""
    matches = [image.lesions for image in scores.labelled if image.lesions]
    return np.array(matches, dtype=np.int64).reshape(-1, 3)


def total(place: int) -> Compute:
    return lambda scores: int(match_counts(scores)[:, place].sum())


def _entry(order: int, key: str, compute: Compute, unit: Unit = "%", *, larger_is_better: bool = True) -> Figure:
    return Figure(
        name=f"lesion_wise.{key}", label=key.replace("_", " "), compute=compute, unit=unit, needs="lesions",
        larger_is_better=larger_is_better, order=order,
    )  # fmt: skip


register(
    _entry(200, "sensitivity", lambda scores: ratio(*match_counts(scores).sum(0)[:2])),
    _entry(
        210, "false_positives_per_image",
        lambda scores: ratio(match_counts(scores)[:, 2].sum(), len(match_counts(scores))),
        "number", larger_is_better=False,
    ),
    _entry(220, "found", total(0), "count"),
    _entry(230, "lesions", total(1), "count"),
    _entry(240, "false_positives", total(2), "count", larger_is_better=False),
    _entry(250, "rule", lambda scores: RULE, "text"),
)  # fmt: skip
