"""Intervals with a known answer."""

import time

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from endotransfer.errors import DataError
from endotransfer.metrics import (
    iou,
    lesion_dice,
    miou,
    of_class,
    paired_bootstrap,
    resampled_sums,
)
from endotransfer.metrics.bootstrap import Groups, Interval, percentiles
from endotransfer.metrics.rates import Rates, Statistic


def noisy_images(count: int, seed: int = 0, skill: float = 0.8, spread: float = 0.1) -> NDArray[np.int64]:
    """[N, 2, 2]: images of 1,000 pixels, half of them lesion; the share found varies from image to image."""
    rng = np.random.default_rng(seed)
    found = np.clip(rng.normal(skill, spread, (count, 2)), 0, 1) * 500
    hits = found.astype(np.int64)
    return np.stack([np.stack([hits[:, 0], 500 - hits[:, 0]], -1), np.stack([500 - hits[:, 1], hits[:, 1]], -1)], 1)


def literal_interval(
    matrices: NDArray[np.int64], groups: list[str], statistic: Statistic, resamples: int, seed: int
) -> tuple[float, float]:
    """The same draws, but adding up image after image."""
    names = list(dict.fromkeys(groups))
    draws = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), resamples)
    values = []
    for counts in draws:
        chosen = [name for name, times in zip(names, counts, strict=True) for _ in range(times)]
        images = [m for name in chosen for m, group in zip(matrices, groups, strict=True) if group == name]
        values.append(float(statistic(sum(images))))
    return tuple(np.percentile(values, [2.5, 97.5]))


def bootstrap_interval(
    matrices: ArrayLike, groups: Groups, statistic: Statistic, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """(low, high), as an evaluation makes them of its figures."""
    return percentiles(statistic(resampled_sums(matrices, groups, resamples, seed)), level)


def width(interval: Interval) -> float:
    return interval[1] - interval[0]


@pytest.mark.parametrize("statistic", [miou, of_class(iou, 1), lesion_dice])
def test_interval_equals_adding_up_the_drawn_images_one_by_one(statistic: Statistic) -> None:
    matrices, groups = noisy_images(12), list("aabbccddeeff")
    measured = bootstrap_interval(matrices, groups, statistic, resamples=60, seed=3)
    np.testing.assert_allclose(measured, literal_interval(matrices, groups, statistic, 60, 3), rtol=1e-12)


def test_identical_images_leave_no_doubt() -> None:
    matrices = np.repeat(noisy_images(1), 30, axis=0)
    low, high = bootstrap_interval(matrices, range(30), miou)
    assert low == high == pytest.approx(miou(matrices[0]))


def test_interval_has_the_width_of_the_normal_approximation() -> None:
    """Accuracy is a mean over images of one size, so its interval is known: 2 x 1.96 x standard error."""

    def accuracy(matrices: ArrayLike) -> Rates:
        matrix = np.asarray(matrices, np.float64)
        return np.asarray(np.trace(matrix, axis1=-2, axis2=-1) / matrix.sum((-2, -1)))

    matrices = noisy_images(400)
    expected = 2 * 1.96 * accuracy(matrices).std() / np.sqrt(400)
    interval = bootstrap_interval(matrices, range(400), accuracy, resamples=4000)
    assert width(interval) == pytest.approx(expected, rel=0.08)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    truth = miou(noisy_images(50_000, seed=99).sum(0))
    intervals = [bootstrap_interval(noisy_images(60, seed), range(60), miou, 400) for seed in range(100)]
    assert 88 <= sum(low <= truth <= high for low, high in intervals) <= 100


def test_frames_of_one_patient_widen_the_interval() -> None:
    frames = np.repeat(noisy_images(40), 9, axis=0)  # nine equal frames a patient
    alone = bootstrap_interval(frames, range(360), miou)
    clustered = bootstrap_interval(frames, np.repeat(np.arange(40), 9), miou)
    assert width(clustered) == pytest.approx(3 * width(alone), rel=0.15)
    assert clustered == bootstrap_interval(noisy_images(40), range(40), miou)


def test_the_seed_alone_decides() -> None:
    matrices = noisy_images(50)
    first, again, other = (bootstrap_interval(matrices, range(50), miou, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_wider_level_gives_a_wider_interval() -> None:
    matrices = noisy_images(50)
    assert width(bootstrap_interval(matrices, range(50), miou, level=0.5)) < 0.5 * width(
        bootstrap_interval(matrices, range(50), miou, level=0.95)
    )


def test_many_resamples_begin_like_few() -> None:
    matrices = noisy_images(10)
    many, few = (resampled_sums(matrices, range(10), count) for count in (2500, 1000))
    assert many.shape == (2500, 2, 2)
    np.testing.assert_array_equal(many[:1000], few)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_groups_give_no_interval(count: int) -> None:
    assert np.isnan(bootstrap_interval(noisy_images(5)[: 5 * count], ["one"] * 5 * count, miou)).all()


def test_resamples_without_the_class_are_left_out() -> None:
    empty, lesion = [[9, 0], [0, 0]], [[5, 1], [1, 2]]
    low, high = bootstrap_interval([lesion, empty, empty, empty], range(4), of_class(iou, 1))
    assert low == high == 0.5


def test_a_class_that_never_occurs_has_no_interval() -> None:
    assert np.isnan(bootstrap_interval([[[9, 0], [0, 0]]] * 3, range(3), of_class(iou, 1))).all()


def test_groups_must_match_the_images() -> None:
    with pytest.raises(DataError, match="5 images have 4 groups"):
        bootstrap_interval(noisy_images(5), range(4), miou)


def shifted(matrices: NDArray[np.int64], pixels: int) -> NDArray[np.int64]:
    """The same images, `pixels` more of each class found."""
    more: NDArray[np.int64] = matrices + pixels * np.array([[1, -1], [-1, 1]])
    return more


def test_paired_interval_contains_the_truth_and_excludes_zero_for_a_steady_gain() -> None:
    worse = noisy_images(40, skill=0.7)
    better = shifted(worse, 20)
    difference, low, high = paired_bootstrap(better, worse, range(40), miou)
    assert difference == pytest.approx(miou(better.sum(0)) - miou(worse.sum(0)))
    assert 0 < low <= difference <= high
    assert high - low < 0.3 * width(bootstrap_interval(better, range(40), miou))


def test_paired_interval_of_two_equal_systems_contains_zero() -> None:
    difference, low, high = paired_bootstrap(noisy_images(60, 1), noisy_images(60, 2), range(60), miou)
    assert low < 0 < high and low < difference < high


def test_a_system_does_not_differ_from_itself() -> None:
    matrices = noisy_images(10)
    assert paired_bootstrap(matrices, matrices, range(10), miou) == (0, 0, 0)


@pytest.mark.parametrize("other", [noisy_images(9), 2 * noisy_images(10)])
def test_a_pair_must_share_its_masks(other: NDArray[np.int64]) -> None:
    with pytest.raises(DataError, match="not scored on the same masks"):
        paired_bootstrap(noisy_images(10), other, range(10), miou)


def test_a_thousand_resamples_of_a_thousand_images_take_less_than_a_second() -> None:
    matrices = noisy_images(1000)
    start = time.perf_counter()
    bootstrap_interval(matrices, range(1000), miou)
    assert time.perf_counter() - start < 1
