"""The weighted F: Margolin, Zelnik-Manor, Tal, "How to Evaluate Foreground Maps?", CVPR 2014."""

import numpy as np
from numpy.typing import NDArray

from endotransfer.metrics.threshold_curves import Levels, Mask

RADIUS, SIGMA = 3, 5.0  # of the Gaussian, 7 x 7, within which a miss may be made good by its neighbours
HALVED_AT = 5.0  # pixels from the lesion at which a false alarm costs 1.5 of the 2 it costs far away


def weighted_f(levels: Levels, truth: Mask, beta: float = 1.0) -> float:
    """F_beta^w of a map `levels` [H, W] against `truth` [H, W]; 0 where the truth is empty."""
    if not truth.any():
        return 0.0
    error = weighted_error(levels / 255.0, truth)
    missed, invented, lesion = error[truth].sum(), error[~truth].sum(), truth.sum()
    recall = 1 - missed / lesion
    if recall <= 0:
        return 0.0
    precision = (lesion - missed) / (lesion - missed + invented)
    return float((1 + beta**2) * recall * precision / (recall + beta**2 * precision))


def weighted_error(prediction: NDArray[np.float64], truth: Mask) -> NDArray[np.float64]:
    """min(E, E A) B, Eqs. 9-12: on the lesion an error counts as little as its surroundings allow; off the lesion the
    more the further away."""
    from scipy.ndimage import distance_transform_edt, gaussian_filter  # here, because scipy.ndimage is slow to import

    error = np.abs(prediction - truth)
    distance, (rows, columns) = distance_transform_edt(~truth, return_indices=True)
    # Beyond the lesion's edge the nearest lesion pixel stands in, so that the edge is not smoothed with background.
    around = gaussian_filter(error[rows, columns], SIGMA, mode="constant", radius=RADIUS)
    off_lesion = 2 - 0.5 ** (distance / HALVED_AT)
    weighted: NDArray[np.float64] = np.where(truth, np.minimum(error, around), error * off_lesion)
    return weighted
