"""The compared figures of one run, on its test images and on every bootstrap draw of their groups.

Runs on the same images see the same draws, so a difference of two runs is the difference of two of these, and what
makes a patient easy or hard for all cancels.
"""

from dataclasses import dataclass

from endotransfer.compare.compared_figures import compared_figures
from endotransfer.compare.image_counts import ImageCounts
from endotransfer.metrics.bootstrap import resampled_sums
from endotransfer.metrics.image_parts import split_by_kind
from endotransfer.metrics.rates import Rates

DRAW = 0  # the seed of the draws of groups, the same for all


@dataclass(frozen=True, eq=False)
class DrawnFigures:
    """Fractions by the name of the figure; `draws` [R] each, empty where there are fewer than two groups."""

    counts: ImageCounts
    values: dict[str, float]
    draws: dict[str, Rates]


def draw_figures(counts: ImageCounts, resamples: int) -> DrawnFigures:
    parts = split_by_kind(counts.matrices, counts.lesions)  # [N, P, K, K]
    sums = resampled_sums(parts, counts.groups, resamples, DRAW)  # [R, P, K, K]
    known = compared_figures(counts.classes, counts.lesions)
    return DrawnFigures(
        counts,
        {name: float(figure(parts.sum(0))) for name, figure in known.items()},
        {name: figure(sums) for name, figure in known.items()},
    )
