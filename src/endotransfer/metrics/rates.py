"""IoU, Dice, precision and recall from confusion matrices (rows truth, columns prediction).

A class that neither truth nor prediction contains has no IoU: it is NaN, left out of the mean, printed n/a.
In endoscopy class 0 is normal tissue; `lesion` is class 1, or with K > 2 all other classes merged: IoU_n and
IoU_d of the paper's tables.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rates = NDArray[np.float64]
Matrices = NDArray[Any]  # [..., K, K]; integers, or floats that hold integers
Statistic = Callable[[Matrices], Rates]  # [..., K, K] -> [...]


def iou(confusion: ArrayLike) -> Rates:
    """TP / (TP + FP + FN) of each class: [..., K, K] -> [..., K]."""
    hits, true, predicted = _margins(confusion)
    return ratio(hits, true + predicted - hits)


def dice(confusion: ArrayLike) -> Rates:
    """2 TP / (2 TP + FP + FN) of each class: [..., K, K] -> [..., K]."""
    hits, true, predicted = _margins(confusion)
    return ratio(2 * hits, true + predicted)


def precision(confusion: ArrayLike) -> Rates:
    """TP / (TP + FP) of each class; NaN where the class was never predicted."""
    hits, _, predicted = _margins(confusion)
    return ratio(hits, predicted)


def recall(confusion: ArrayLike) -> Rates:
    """TP / (TP + FN) of each class; NaN where the class is not in the truth."""
    hits, true, _ = _margins(confusion)
    return ratio(hits, true)


def miou(confusion: ArrayLike) -> Rates:
    """The mean IoU over the classes that occur: [..., K, K] -> [...]; NaN where none does."""
    return mean_of_known(iou(confusion))


def miou_of(indices: Sequence[int]) -> Statistic:
    """The mean IoU over some of the classes, as a statistic for the bootstrap."""
    return lambda confusion: mean_of_known(iou(confusion)[..., list(indices)])


def lesion_confusion(confusion: ArrayLike) -> Matrices:
    """Normal tissue (class 0) against everything else: [..., K, K] -> [..., 2, 2]."""
    matrix = np.asarray(confusion)
    starts = [0, 1]  # reduceat sums from each start up to the next: class 0 alone, the others together
    return np.add.reduceat(np.add.reduceat(matrix, starts, axis=-1), starts, axis=-2)


def normal_iou(confusion: ArrayLike) -> Rates:
    """IoU_n: the IoU of class 0."""
    return iou(confusion)[..., 0]


def lesion_iou(confusion: ArrayLike) -> Rates:
    """IoU_d: the IoU of all classes but 0, merged."""
    return iou(lesion_confusion(confusion))[..., 1]


def lesion_dice(confusion: ArrayLike) -> Rates:
    """The Dice of all classes but 0, merged."""
    return dice(lesion_confusion(confusion))[..., 1]


def of_class(statistic: Statistic, index: int) -> Statistic:
    """The value of one class, of a statistic [..., K, K] -> [..., K]."""
    return lambda confusion: statistic(confusion)[..., index]


def ratio(part: ArrayLike, whole: ArrayLike) -> Rates:
    """part / whole, NaN where `whole` is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    shares: Rates = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole != 0)
    return shares


def mean_of_known(values: ArrayLike) -> Rates:
    """The mean over the last axis of what is not NaN; NaN where nothing is left (np.nanmean would warn)."""
    values = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(-1), known.sum(-1))


def _margins(confusion: ArrayLike) -> tuple[Matrices, Matrices, Matrices]:
    """(correct, true, predicted) pixels of each class, each [..., K]."""
    matrix = np.asarray(confusion)
    return np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(-1), matrix.sum(-2)
