"""Whether pixel probabilities can be taken at their word, collected image by image."""

from dataclasses import dataclass, field

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.percent import percent
from endotransfer.metrics.reliability import (
    BINS,
    LEVELS,
    ReliabilityBin,
    brier_score,
    calibration_error,
    outcome_counts,
    probability_levels,
    reliability_bins,
)

PROBABLE = 0.1  # lesion probability from which a pixel is one that somebody might look at
SAID = 0.5  # with two classes: lesion is the answer
RULE = (
    f"ece: the predicted class and its probability, over all labelled pixels, in {BINS} bins of equal width; "
    f"ece_lesion: lesion probability (1 - normal) against lesion, over pixels where it is {PROBABLE:g} or more, since "
    "background flatters the plain figure; brier: squared difference, a number; lesion_probability and "
    f"lesion_precision: the mean probability where it is {SAID:g} or more, and how many of these pixels are lesion; "
    "bins: low, high, pixels, mean probability, share that came true"
)


class CalibrationSummary(BaseModel):
    """`calibration` of results.json; per cent, but for `brier`, `pixels` and `bins`."""

    model_config = ConfigDict(frozen=True)

    pixels: int
    ece: float | None
    ece_lesion: float | None  # None, as the next two, where class 0 is no normal tissue
    lesion_probability: float | None
    lesion_precision: float | None
    brier: float | None
    rule: str = ""
    bins: list[ReliabilityBin]  # of lesion probability, or of the predicted class where there are no lesions


def levels_of(probabilities: Tensor, best: Tensor) -> Tensor:
    """Of lesion and of the predicted class, in thousandths: [N, K, H, W] and its maxima -> int16 [2, N, H, W]."""
    return probability_levels(torch.stack([1 - probabilities[:, 0], best]))


@dataclass
class PixelCalibration:
    """Counts [2, 2, 1001]: of lesion and of the predicted class; outcomes; thousandths.  `lesions`: class 0 is normal.

    The same memory for any number of images.
    """

    lesions: bool
    counts: Counts = field(default_factory=lambda: np.zeros((2, 2, LEVELS + 1), np.int64))

    @staticmethod
    def count(levels: Tensor, mask: Tensor, truth: Tensor) -> Counts:
        """What images add: `levels` [2, N, H, W] of `levels_of`, `mask` and `truth` [N, H, W].  Safe in any thread."""
        known = truth != IGNORE
        of_lesion = outcome_counts(levels[0], truth != 0, known)
        return np.stack([of_lesion, outcome_counts(levels[1], mask == truth, known)])

    def add(self, counts: Counts) -> None:
        self.counts += counts

    def summary(self) -> CalibrationSummary | None:
        """None where no pixel has a label."""
        of_lesion, of_predicted = self.counts
        if not of_predicted.any():
            return None
        shown = of_lesion if self.lesions else of_predicted
        said = reliability_bins(of_lesion, SAID) if self.lesions else []
        pixels = sum(one.pixels for one in said)
        return CalibrationSummary(
            pixels=int(of_predicted.sum()),
            ece=percent(calibration_error(of_predicted)),
            ece_lesion=percent(calibration_error(of_lesion, PROBABLE)) if self.lesions else None,
            lesion_probability=100 * sum(one.pixels * one.probability for one in said) / pixels if pixels else None,
            lesion_precision=100 * sum(one.pixels * one.observed for one in said) / pixels if pixels else None,
            brier=brier_score(shown),
            rule=RULE,
            bins=[_rounded(one) for one in reliability_bins(shown)],
        )


def _rounded(one: ReliabilityBin) -> ReliabilityBin:
    """For people who read JSON."""
    return one._replace(probability=round(float(one.probability), 6), observed=round(float(one.observed), 6))
