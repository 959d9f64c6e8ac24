"""Dice, IoU and E-measure at each of 256 thresholds, from two histograms of the map instead of 256 passes over it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from endotransfer.metrics.rates import Rates, ratio

LEVELS = 256  # values of an 8-bit map, and as many thresholds
Levels = NDArray[np.uint8]
Mask = NDArray[np.bool_]


class ThresholdCounts(NamedTuple):
    """Pixels at each threshold t: a pixel is predicted where its level is t or more."""

    hits: NDArray[np.int64]  # [256]: predicted and lesion
    predicted: NDArray[np.int64]  # [256]
    lesion: int
    pixels: int


def threshold_counts(levels: Levels, truth: Mask) -> ThresholdCounts:
    """Count `levels` [H, W] against `truth` [H, W] at every threshold at once."""
    inside = np.bincount(levels[truth], minlength=LEVELS)
    everywhere = np.bincount(levels.ravel(), minlength=LEVELS)
    return ThresholdCounts(_at_least(inside), _at_least(everywhere), int(truth.sum()), truth.size)


def dice_curve(counts: ThresholdCounts) -> Rates:
    """2 TP / (2 TP + FP + FN): [256].  Without a hit it is 0, also where nothing is there to be hit."""
    return np.nan_to_num(ratio(2 * counts.hits, counts.predicted + counts.lesion))


def iou_curve(counts: ThresholdCounts) -> Rates:
    """TP / (TP + FP + FN): [256], 0 without a hit."""
    return np.nan_to_num(ratio(counts.hits, counts.predicted + counts.lesion - counts.hits))


def e_measure_curve(counts: ThresholdCounts) -> Rates:
    """The enhanced-alignment measure (Fan et al., IJCAI 2018, Eqs. 2-5) of each binary map: [256].

    With a = truth - its mean and b = prediction - its mean, a pixel scores (1 + 2ab / (a^2 + b^2))^2 / 4, and the
    measure is the mean over pixels.  A pixel has one of four kinds, so four values and their counts are enough.
    Without a lesion pixel the measure is the share left unpainted; without any other, the share painted.
    """
    hits, predicted, lesion, pixels = counts
    if lesion in (0, pixels):
        return 1 - predicted / pixels if lesion == 0 else predicted / pixels
    number = {
        (1, 1): hits,
        (1, 0): lesion - hits,
        (0, 1): predicted - hits,
        (0, 0): pixels - lesion - predicted + hits,
    }
    scores = [
        count * _enhanced(truth - lesion / pixels, guess - predicted / pixels)
        for (truth, guess), count in number.items()
    ]
    measure: Rates = np.sum(scores, axis=0) / pixels
    return measure


def _enhanced(a: float, b: Rates) -> Rates:
    return (1 + 2 * a * b / (a**2 + b**2)) ** 2 / 4


def _at_least(histogram: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values are t or more, for each t."""
    return histogram[::-1].cumsum()[::-1]
