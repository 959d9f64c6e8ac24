"""Intervals over seeds and groups of images: against a literal twin, against Student, and by how often they are right.

The simulated truth is a crossed model: a difference of seed i on group g is 0 + seed_i + group_g + both_ig, and a
measured figure is its mean over groups.  The old interval drew groups alone.
"""

from functools import cache
from statistics import mean, stdev

import numpy as np
import pytest
from numpy.typing import NDArray

from endotransfer.metrics.bootstrap import percentiles
from endotransfer.metrics.seed_interval import seed_interval, student_interval

T_975 = {2: 12.7062, 3: 4.30265, 5: 2.77645}  # from a printed table, n - 1 degrees of freedom
Simulated = tuple[NDArray[np.float64], NDArray[np.float64]]  # values [S], draws [S, R]


@cache
def draws_of_groups(groups: int, resamples: int) -> NDArray[np.float64]:
    """[R, G]"""
    return np.random.default_rng(1).multinomial(groups, np.full(groups, 1 / groups), resamples) / groups


def simulate(seeds: int, groups: int, by_seed: float, rng: np.random.Generator, resamples: int = 400) -> Simulated:
    """The truth is 0; the error of a mean over groups has deviation 1 from the groups, `by_seed` from each seed."""
    scale = np.sqrt(groups / 2)
    by_group = rng.normal(0, scale, groups) + rng.normal(0, scale, (seeds, groups))
    differences = rng.normal(0, by_seed, (seeds, 1)) + by_group  # [S, G]
    return differences.mean(1), differences @ draws_of_groups(groups, resamples).T


def coverage(seeds: int, groups: int, by_seed: float, trials: int = 250) -> tuple[float, float]:
    """Shares of trials in which the interval, and the old one, contain the truth."""
    rng = np.random.default_rng(seeds)
    new = old = 0
    for _ in range(trials):
        values, draws = simulate(seeds, groups, by_seed, rng)
        low, high = seed_interval(values, draws)
        before = percentiles(draws.mean(0), 0.95)
        new, old = new + (low <= 0 <= high), old + (before[0] <= 0 <= before[1])
    return new / trials, old / trials


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("groups", [12, 100])
def test_ninety_five_per_cent_are_at_least_about_ninety(seeds: int, groups: int) -> None:
    """Also where the seeds make no difference, and where they make almost all of it."""
    for by_seed in (0.0, 1.0, 3.0, 10.0):
        assert coverage(seeds, groups, by_seed)[0] >= 0.91


@pytest.mark.parametrize(("seeds", "old"), [(2, 0.45), (3, 0.5), (5, 0.6)])
def test_drawing_images_alone_covered_far_less(seeds: int, old: float) -> None:
    new, before = coverage(seeds, 100, by_seed=5.0)
    assert before < old < 0.91 < new


@pytest.mark.parametrize("seeds", [2, 3])
def test_drawing_the_seeds_with_replacement_is_not_enough(seeds: int) -> None:
    """What one would write first: seeds and groups drawn alike."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(300):
        _, draws = simulate(seeds, 100, 10.0, rng)
        chosen = rng.integers(0, seeds, (draws.shape[1], seeds))
        low, high = percentiles(np.take_along_axis(draws.T, chosen, 1).mean(1), 0.95)
        hits += low <= 0 <= high
    assert hits / 300 < 0.85


def literal_interval(values: list[float], draws: list[list[float]]) -> tuple[float, float]:
    """The formula of the module, resample by resample; scipy's t by name instead of by inverse."""
    from scipy import stats

    seeds, resamples = len(values), len(draws[0])
    order = np.random.default_rng(0).permutation(resamples)
    resampled = []
    for r in range(resamples):
        t = float(stats.t.ppf((order[r] + 0.5) / resamples, seeds - 1)) if seeds > 1 else 0.0
        v = stdev(values) if seeds > 1 else 0.0
        resampled.append(mean(draws[i][r] for i in range(seeds)) + t * v / seeds**0.5)
    low, high = np.percentile(resampled, [2.5, 97.5])
    return float(low), float(high)


@pytest.mark.parametrize("seeds", [1, 2, 3, 5])
def test_it_equals_the_formula_taken_literally(seeds: int) -> None:
    values, draws = simulate(seeds, 20, 2.0, np.random.default_rng(7), resamples=101)
    expected = literal_interval(values.tolist(), draws.tolist())
    assert seed_interval(values, draws) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_where_images_make_no_difference_it_is_students(seeds: int) -> None:
    values = np.arange(seeds) ** 1.5
    expected = T_975[seeds] * stdev(values.tolist()) / seeds**0.5
    low, high = student_interval(values)
    assert (low, high) == pytest.approx((values.mean() - expected, values.mean() + expected), rel=1e-4)
    drawn = seed_interval(values, np.repeat(values[:, None], 1000, 1))
    assert drawn == pytest.approx((low, high), abs=0.01 * (high - low))


def test_three_seeds_that_disagree_do_not_prove_a_gain_of_ten_points() -> None:
    """LtA against BL on capsule: +9.7, printed as [8.8, 10.4] while images alone were drawn."""
    gains = np.array([55.4, 40.5, 48.6]) - np.array([39.8, 38.0, 37.7])
    draws = gains[:, None] + np.random.default_rng(0).normal(0, 0.4, 1000)
    assert percentiles(draws.mean(0), 0.95) == pytest.approx((8.9, 10.4), abs=0.2)
    low, high = seed_interval(gains, draws)
    assert low == pytest.approx(-6.8, abs=0.5) and high == pytest.approx(26.1, abs=0.5)


def test_where_seeds_agree_it_is_the_bootstrap_over_groups() -> None:
    draws = np.repeat(np.random.default_rng(0).normal(5, 1, (1, 500)), 3, 0)
    assert seed_interval(np.full(3, 5.0), draws) == pytest.approx(percentiles(draws[0], 0.95))


def test_one_seed_is_the_bootstrap_over_groups_and_nothing_is_nothing() -> None:
    values, draws = simulate(1, 30, 1.0, np.random.default_rng(1))
    assert seed_interval(values, draws) == percentiles(draws[0], 0.95)
    assert np.isnan(seed_interval([1.0, 2.0], np.zeros((2, 0)))).all()
    assert np.isnan(student_interval([1.0])).all()


def test_a_figure_that_one_seed_does_not_have_has_no_interval() -> None:
    assert np.isnan(seed_interval([1.0, np.nan], np.ones((2, 10)))).all()


def test_draws_without_the_figure_are_left_out() -> None:
    draws = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    low, high = seed_interval([2.0, 2.0], draws)
    assert 1 <= low < high <= 3
