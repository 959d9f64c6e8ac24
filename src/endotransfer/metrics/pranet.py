"""The figures of the PraNet protocol (Fan et al., MICCAI 2020), by which polyp segmentation is usually compared.

They answer another question than this project's own Dice and IoU, and neither may stand in a column of the other:
here the map of lesion probabilities is stretched to 0..1 in every image, Dice and IoU are means over 256 thresholds,
and every image counts alike.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from endotransfer.batch import IGNORE
from endotransfer.errors import DataError
from endotransfer.metrics.figure import Scalar
from endotransfer.metrics.percent import percent
from endotransfer.metrics.s_measure import s_measure
from endotransfer.metrics.threshold_curves import (
    LEVELS,
    Levels,
    dice_curve,
    e_measure_curve,
    iou_curve,
    threshold_counts,
)
from endotransfer.metrics.weighted_f import weighted_f

NAMES = ("mean_dice", "mean_iou", "max_dice", "s_measure", "mean_e_measure", "max_e_measure", "weighted_f", "mae")
RULE = (
    "lesion probability at the mask's own size, stretched to 0..1 in each image, in 256 steps; mean: over thresholds, "
    "then images; max: the one best threshold of the set; an image without a lesion pixel is left out and counted in "
    "without_lesion; an empty (flat) prediction scores as all zeros; an unlabelled pixel is background in both"
)


class PraNetScores:
    """Collects one image after the other; `summary` is in per cent, None where no image has a lesion."""

    def __init__(self) -> None:
        self._curves: list[NDArray[np.float64]] = []  # [3, 256] an image: Dice, IoU, E-measure
        self._figures: list[tuple[float, float, float]] = []  # S-measure, weighted F, MAE
        self._without_lesion = 0

    def update(self, probability: ArrayLike, truth: NDArray[np.generic], image: str = "") -> None:
        """Score one image: `probability` of a lesion [H, W]; `truth` [H, W], 0 normal, IGNORE unlabelled."""
        unlabelled = truth == IGNORE
        lesion = (truth != 0) & ~unlabelled
        if not lesion.any():
            self._without_lesion += 1
            return
        levels = stretched(probability, image)
        levels[unlabelled] = 0
        counts = threshold_counts(levels, lesion)
        self._curves.append(np.stack([dice_curve(counts), iou_curve(counts), e_measure_curve(counts)]))
        error = float(np.abs(levels / (LEVELS - 1) - lesion).mean())
        self._figures.append((s_measure(levels, lesion), weighted_f(levels, lesion), error))

    def summary(self) -> dict[str, Scalar]:
        """Means over images, the curves then over thresholds or their best."""
        curves = np.array(self._curves).reshape(-1, 3, LEVELS)
        known = len(curves) > 0
        dice, iou, e_measure = curves.mean(0) if known else np.full((3, LEVELS), np.nan)
        structure, weighted, error = np.array(self._figures).mean(0) if known else np.full(3, np.nan)
        figures = (
            dice.mean(), iou.mean(), dice.max(), structure, e_measure.mean(), e_measure.max(), weighted, error,
        )  # fmt: skip
        return {
            "images": len(curves),
            "without_lesion": self._without_lesion,
            **{name: percent(value) for name, value in zip(NAMES, figures, strict=True)},
            "rule": RULE,
        }


def stretched(probability: ArrayLike, image: str = "") -> Levels:
    """The map as the protocol stores it: its least value becomes 0, its greatest 255; a flat map is 0 everywhere."""
    values = np.asarray(probability, dtype=np.float64)
    low, high = values.min(), values.max()
    if not np.isfinite(high - low):
        raise DataError(f"the prediction{image and f' of {image}'} is not finite; the model is not usable.")
    if low == high:
        return np.zeros(values.shape, np.uint8)
    levels: Levels = np.floor((values - low) / (high - low) * (LEVELS - 1) + 0.5).astype(np.uint8)
    return levels
