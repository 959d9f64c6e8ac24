"""The structure measure: Fan, Cheng, Liu, Li, Borji, "Structure-measure: A New Way to Evaluate Foreground Maps", 2017.

On 8-bit maps every sum is a whole number, so "does not vary" and "is empty" are exact and not a matter of rounding.
"""

import numpy as np

from endotransfer.metrics.threshold_curves import Levels, Mask

FULL = 255


def s_measure(levels: Levels, truth: Mask, alpha: float = 0.5) -> float:
    """alpha S_object + (1 - alpha) S_region of a map `levels` [H, W] against `truth` [H, W]; never below 0.

    Without a lesion pixel it is one minus the mean of the map, without any other the mean of the map.
    """
    lesion, mean = int(truth.sum()), float(levels.mean()) / FULL
    if lesion in (0, truth.size):
        return mean if lesion else 1 - mean
    return max(0.0, alpha * object_similarity(levels, truth) + (1 - alpha) * region_similarity(levels, truth))


def object_similarity(levels: Levels, truth: Mask) -> float:
    """S_o: how bright and even the map is on the lesion, and how dark and even off it, weighted by area."""
    share = float(truth.mean())
    return share * _object_score(levels[truth]) + (1 - share) * _object_score(FULL - levels[~truth])


def region_similarity(levels: Levels, truth: Mask) -> float:
    """S_r: structural similarity in the four blocks that the lesion's centroid makes, weighted by area."""
    # The reference counts pixels from 1 and rounds halves up; a block beyond the edge is empty and counts nothing.
    row, column = (int(np.floor(indices.mean() + 1.5)) for indices in np.nonzero(truth))
    blocks = [
        np.s_[rows, columns] for rows in (np.s_[:row], np.s_[row:]) for columns in (np.s_[:column], np.s_[column:])
    ]
    return sum(truth[block].size * similarity(levels[block], truth[block]) for block in blocks) / truth.size


def similarity(levels: Levels, truth: Mask) -> float:
    """4 x y s_xy / ((x^2 + y^2)(s_x^2 + s_y^2)); 1 where numerator and denominator are 0, 0 for an empty block."""
    n, bright = truth.size, levels.astype(np.int64)
    if not n:
        return 0.0
    sum_x, sum_y = int(bright.sum()), FULL * int(truth.sum())
    spread_x = n * int((bright**2).sum()) - sum_x**2
    spread_y = n * FULL * sum_y - sum_y**2
    shared = n * FULL * int(bright[truth].sum()) - sum_x * sum_y
    above, below = 4 * sum_x * sum_y * shared, (sum_x**2 + sum_y**2) * (spread_x + spread_y)
    return above / below if below else 1.0


def _object_score(values: Levels) -> float:
    """2 m / (m^2 + 1 + s) of the mean m and the sample deviation s."""
    mean = float(values.mean()) / FULL
    deviation = float(values.std(ddof=1)) / FULL if values.size > 1 else 0.0
    return 2 * mean / (mean**2 + 1 + deviation)
