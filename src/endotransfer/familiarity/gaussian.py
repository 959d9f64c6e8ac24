"""A Gaussian with a shrunk covariance, kept in as many directions as its images can tell apart."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]
LEAST = 1e-9  # variance relative to the mean one: images that are all alike must not divide by zero


@dataclass(frozen=True)
class Gaussian:
    """Mean, the r directions in which images differ, their variances, and the variance of everything else."""

    mean: Values  # [D]
    axes: Values  # [r, D], orthonormal
    variances: Values  # [r]
    rest: float

    def distance(self, values: Values) -> Values:
        """Mahalanobis distance of values [N, D] -> [N]."""
        centred = values - self.mean
        along = centred @ self.axes.T
        outside = np.maximum(np.square(centred).sum(1) - np.square(along).sum(1), 0)
        found: Values = np.sqrt((np.square(along) / self.variances).sum(1) + outside / self.rest)
        return found


def fit_gaussian(values: Values) -> Gaussian:
    """Of values [N, D], as `sklearn.covariance.LedoitWolf` fits it, without ever making the D x D matrix.

    Covariance (1 - s) S + s m I, with S that of the values, m its mean variance and s the shrinkage of Ledoit and Wolf
    (A well-conditioned estimator for large-dimensional covariance matrices, 2004).  Outside of the at most N directions
    of S it is s m.
    """
    from sklearn.covariance import (
        ledoit_wolf_shrinkage,
    )  # here, because it is slow to import and only training needs it

    mean = values.mean(0)
    centred = values - mean
    shrinkage = float(ledoit_wolf_shrinkage(centred, assume_centered=True)) if centred.any() else 1.0
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    variances = np.square(singular) / len(values)
    mean_variance = float(variances.sum()) / values.shape[1]
    least = max(LEAST * mean_variance, np.finfo(np.float32).tiny)
    return Gaussian(
        mean,
        axes,
        np.maximum((1 - shrinkage) * variances + shrinkage * mean_variance, least),
        max(shrinkage * mean_variance, least),
    )
