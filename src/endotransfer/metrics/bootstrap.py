"""Percentile bootstrap intervals over confusion matrices, drawing whole patients (or clusters of duplicates).

Frames of one patient resemble each other, so drawing frames one by one would give intervals far too narrow.
A resample is a weight for each group, so all of them together are one product of matrices.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from endotransfer.errors import DataError
from endotransfer.metrics.rates import Matrices, Statistic

Groups = Sequence[Hashable] | NDArray[np.generic]
Interval = tuple[float, float]

_CHUNK = 1000  # resamples drawn at once: bounds the memory for weights, not the result


def paired_bootstrap(
    matrices_a: ArrayLike,
    matrices_b: ArrayLike,
    groups: Groups,
    statistic: Statistic,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """(difference, low, high) of statistic(a) - statistic(b), two systems on the same images in one order.

    Both see the same draws, so what makes an image easy or hard for both cancels.
    """
    a, b = np.asarray(matrices_a), np.asarray(matrices_b)
    if a.shape != b.shape or not np.array_equal(a.sum(-1), b.sum(-1)):
        raise DataError("the two systems were not scored on the same masks; evaluate both on the same images.")
    difference = float(statistic(a.sum(0)) - statistic(b.sum(0)))
    sums_a, sums_b = (resampled_sums(m, groups, resamples, seed) for m in (a, b))
    return difference, *percentiles(statistic(sums_a) - statistic(sums_b), level)


def resampled_sums(matrices: ArrayLike, groups: Groups, resamples: int = 1000, seed: int = 0) -> Matrices:
    """The summed matrix of each resample: [N, ...], [N] -> [R, ...]; R = 0 with one group or none."""
    grouped = sum_by_group(matrices, groups)
    number, shape = len(grouped), grouped.shape[1:]
    if number < 2 or not resamples:
        return np.zeros((0, *shape))
    flat = grouped.reshape(number, -1).astype(np.float64)  # exact: pixel counts stay far below 2^53
    draw, share = np.random.default_rng(seed), np.full(number, 1 / number)
    sizes = [min(_CHUNK, resamples - start) for start in range(0, resamples, _CHUNK)]
    sums = [draw.multinomial(number, share, size).astype(np.float64) @ flat for size in sizes]
    return np.concatenate(sums).reshape(resamples, *shape)


def sum_by_group(matrices: ArrayLike, groups: Groups) -> Matrices:
    """[N, ...], [N] -> [G, ...], groups in order of their first image."""
    matrix = np.asarray(matrices)
    if len(matrix) != len(groups):
        raise DataError(f"{len(matrix)} images have {len(groups)} groups; give each image one patient or cluster.")
    number: dict[Hashable, int] = {}
    index = np.array([number.setdefault(group, len(number)) for group in groups], dtype=np.int64)
    sums = np.zeros((len(number), *matrix.shape[1:]), dtype=matrix.dtype)
    np.add.at(sums, index, matrix)
    return sums


def percentiles(values: ArrayLike, level: float) -> Interval:
    """The central `level` of `values`, NaN left out."""
    values = np.asarray(values, dtype=np.float64)
    known = values[~np.isnan(values)]
    if not known.size:
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
