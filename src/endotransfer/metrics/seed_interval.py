"""An interval for a mean over a few training seeds, measured on groups of test images that could have been others.

Two things were drawn at random: the seeds 1..n and the groups of test images.  Let d_i be the figure of seed i (or the
difference of two systems with that seed) on all test images, d_i(w) the same with groups weighted by a bootstrap draw
w, and v^2 = sum_i (d_i - mean d)^2 / (n - 1).  A resample of the mean is

    D*(w, t) = 1/n sum_i d_i(w)  +  t v / sqrt(n),      t from Student's distribution with n - 1 degrees of freedom,

and the interval is the central part of these.  The first term draws groups, the same for every seed and both systems.
The second stands for drawing other seeds: to draw the n seeds themselves with replacement would be far too narrow,
since half of all draws from two seeds are one of them twice, and nothing would count how little two values tell of
their own deviation.  Where seeds alone vary this is Student's interval; where they do not vary it is the bootstrap
over groups; in between it is the solution of Behrens and Fisher (R. A. Fisher, The fiducial argument in statistical
inference, Annals of Eugenics 6, 1935) for the sum of two errors of unknown size, which covers at least what it says.
(Satterthwaite's degrees of freedom, the usual shortcut, cover as little as 87 % with two seeds.)  What seeds and
images do together is counted in both terms, again to the safe side, as in the bootstrap of crossed factors (A. B.
Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1, 2007).  tests/metrics/test_seed_interval.py measures
the coverage.
"""

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from endotransfer.metrics.bootstrap import Interval, percentiles
from endotransfer.metrics.rates import Rates


def seed_interval(values: ArrayLike, draws: ArrayLike, level: float = 0.95) -> Interval:
    """(low, high) for the mean of `values` [S], each seed's figure; `draws` [S, R]: the same in every bootstrap draw.

    One seed: over groups of images alone.  R = 0 (fewer than two groups): none.
    """
    measured, drawn = np.asarray(values, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    return percentiles(drawn.mean(0) + _other_seeds(measured, drawn.shape[1]), level)


def student_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """mean +- t s / sqrt(n), over seeds alone: what is left where the scores of single images are not known."""
    measured = np.asarray(values, dtype=np.float64)
    if len(measured) < 2:
        return np.nan, np.nan
    half = _quantiles(np.array([(1 + level) / 2]), len(measured))[0] * _standard_error(measured)
    return float(measured.mean() - half), float(measured.mean() + half)


def _other_seeds(measured: Rates, number: int) -> Rates:
    """What another choice of seeds adds to each of `number` draws."""
    if len(measured) < 2 or not number:
        return np.zeros(number)
    return _shuffled_quantiles(number, len(measured)) * _standard_error(measured)


@cache
def _shuffled_quantiles(number: int, seeds: int) -> Rates:
    """Of t, in a fixed random order: independent of the draws of groups, and with tails that are exact."""
    even = _quantiles((np.arange(number) + 0.5) / number, seeds)
    return np.random.default_rng(0).permutation(even)


def _standard_error(measured: Rates) -> float:
    return float(measured.std(ddof=1) / np.sqrt(len(measured)))


def _quantiles(shares: Rates, seeds: int) -> Rates:
    """Of Student's distribution with seeds - 1 degrees of freedom."""
    from scipy.special import stdtrit  # here, because scipy is slow to import

    quantiles: Rates = stdtrit(seeds - 1, shares)
    return quantiles
