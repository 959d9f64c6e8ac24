"""Streamed thresholds against Algorithm 1 by sorting, and the share of pixels that pass them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor

from endotransfer.errors import ConfigError
from endotransfer.pseudo_labels import pixel_loops as compiled
from endotransfer.pseudo_labels.log_odds import predicted_log_odds
from endotransfer.pseudo_labels.thresholds import ThresholdState
from tests import literal
from tests.properties import examples

COARSE = 512  # bins to an octave: enough where the default would only cost the tests time
PORTIONS = st.floats(0.05, 1.0)


def counted(logits: Tensor, bins_per_octave: int | None = None) -> ThresholdState:
    state = ThresholdState(logits.shape[1], bins_per_octave)
    state.update(logits)
    return state


def one_bin(value: float, classes: int) -> float:
    """The width of the bin around a value, and float32's error on logits of 200."""
    return (value + math.log(classes - 1) + 4) / COARSE + 1e-4


def taken_by_class(logits: Tensor, thresholds: Tensor) -> list[list[int]]:
    """Pixels of each predicted class that pass the strict rule of Eq. 5, and pixels of each class."""
    values, predicted = predicted_log_odds(logits)
    passed = values > thresholds[predicted]
    classes = logits.shape[1]
    return [torch.bincount(kind.flatten(), minlength=classes).tolist() for kind in (predicted[passed], predicted)]


def as_images(logits: Tensor) -> list[list[list[float]]]:
    """[B, K, h, w] -> images -> pixels -> logits."""
    return logits.flatten(2).transpose(1, 2).tolist()


@st.composite
def small_batches(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> Tensor:
    shape = (draw(st.integers(1, 3)), draw(st.integers(2, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    return torch.from_numpy(draw(hnp.arrays(np.float32, shape, elements=elements)))


@given(small_batches(st.floats(-200, 200, width=32) | st.floats(-2, 2, width=32)), PORTIONS)
@examples(300)
def test_thresholds_are_those_of_algorithm_1(logits: Tensor, portion: float) -> None:
    classes = logits.shape[1]
    expected = literal.algorithm_1(literal.maxima_by_class(as_images(logits), classes), portion)
    found = counted(logits, bins_per_octave=COARSE).thresholds(portion).tolist()
    for threshold, truth in zip(found, expected, strict=True):
        if truth == math.inf:
            assert threshold == math.inf
        else:
            assert abs(threshold - truth) <= one_bin(truth, classes)


@given(small_batches(st.integers(-3, 3).map(float) | st.integers(-200, 200).map(float)), PORTIONS)
@examples(300)
def test_ties_go_all_or_none_by_the_stated_rule(logits: Tensor, portion: float) -> None:
    logits = logits[:, :2]  # the difference of two whole logits is exact: ties are ties
    maxima = literal.maxima_by_class(as_images(logits), 2)
    taken, _ = taken_by_class(logits, counted(logits).thresholds(portion))
    assert taken == [literal.pixels_taken(values, portion) for values in maxima]


@given(
    seed=st.integers(0, 2**32 - 1),
    classes=st.integers(2, 5),
    spread=st.sampled_from([(0.01, 0), (0.1, 0), (1, 0), (10, 0), (100, 0), (1, 40), (10, 40), (10, 200), (100, 200)]),
    portion=PORTIONS,
    balanced=st.booleans(),
)
@examples(100)
def test_selected_share_is_within_a_tenth_of_a_point(
    seed: int, classes: int, spread: tuple[float, float], portion: float, balanced: bool
) -> None:
    """At 50,000 pixels a class and more: with a quarter of them, and logits that differ by hundredths, a bin holds a
    hundredth of a class, and how chance spreads it within the bin was seen to make 0.11 points."""
    scale, margin = spread
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, classes, 512, 512, generator=generator) * scale
    # Raise the predicted class, so that with a margin float32 probabilities are exactly 1 nearly everywhere.
    logits = logits.scatter_add(1, logits.argmax(1, keepdim=True), torch.full((1, 1, 512, 512), float(margin)))
    taken, pixels = taken_by_class(logits, counted(logits).thresholds(portion, balanced))
    pairs = zip(taken, pixels, strict=True) if balanced else [(sum(taken), sum(pixels))]
    for count, of in pairs:
        assert abs(count - portion * of) <= max(1, 0.001 * of)


@pytest.mark.parametrize("portion", [0.05, 0.25, 0.55, 1.0])
@pytest.mark.parametrize("logits", [(0.0, 0.0), (0.0, 7.3), (900.0, -900.0), (1e4, 0.0)])
def test_a_constant_image_is_taken_whole(logits: tuple[float, float], portion: float) -> None:
    image = torch.tensor(logits).view(1, 2, 1, 1).expand(1, 2, 9, 9)
    taken, _ = taken_by_class(image, counted(image).thresholds(portion))
    assert sum(taken) == 81


def test_a_single_class_is_taken_whole() -> None:
    image = torch.randn(1, 1, 5, 5)
    assert taken_by_class(image, counted(image).thresholds(0.25)) == [[25], [25]]


def test_rounding_noise_does_not_break_a_tie() -> None:
    state = ThresholdState(2)
    value = np.float32(3.3)
    values = [value, np.nextafter(value, np.float32(9)), value, np.float32(1.0)]
    state.count(torch.tensor(np.array(values)), torch.zeros(4, dtype=torch.int64))
    assert 1.0 < state.thresholds(0.5)[0] < value  # three of four are nearer to two than none


def test_a_portion_too_small_for_a_pixel_takes_the_surest() -> None:
    logits = torch.tensor([[[1.0, 9.0, 5.0]], [[0.0, 0.0, 0.0]]]).unsqueeze(0)
    assert 5 < counted(logits).thresholds(1e-30)[0] < 9


def test_a_class_never_predicted_takes_no_labels() -> None:
    thresholds = counted(torch.tensor([1.0, 0.0, 0.5]).view(1, 3, 1, 1)).thresholds(0.5)
    assert thresholds[0] < 2 and thresholds[1:].tolist() == [math.inf, math.inf]


@given(small_batches(st.floats(-50, 50, width=32)), PORTIONS)
@examples(300)
def test_without_balance_one_threshold_comes_from_all_pixels(logits: Tensor, portion: float) -> None:
    maxima = literal.maxima_by_class(as_images(logits), logits.shape[1])
    [expected] = literal.algorithm_1([[value for values in maxima for value in values]], portion)
    found = counted(logits, bins_per_octave=COARSE).thresholds(portion, balanced=False)
    assert (found == found[0]).all()
    assert abs(found[0].item() - expected) <= one_bin(expected, logits.shape[1])


@given(small_batches(st.floats(-50, 50, width=32)), st.integers(0, 3))
@examples(300)
def test_two_merged_shards_equal_one(logits: Tensor, cut: int) -> None:
    whole = counted(logits, bins_per_octave=COARSE)
    merged, other = (ThresholdState(logits.shape[1], COARSE) for _ in range(2))
    merged.update(logits[:cut])
    other.update(logits[cut:])
    assert torch.equal(merged.sums + other.sums, whole.sums)


VALUES = st.lists(st.floats(-4, 3000, width=32) | st.just(math.inf), min_size=1, max_size=30)


@given(VALUES, st.integers(1, 4), st.sampled_from([torch.uint8, torch.int64]))
@examples(300)
def test_compiled_uncompiled_and_scattered_counting_agree(
    numbers: list[float], classes: int, dtype: torch.dtype
) -> None:
    values = torch.tensor(numbers)
    predicted = (torch.arange(len(values)) % classes).to(dtype)
    fast, scattered, plain = (ThresholdState(classes, bins_per_octave=16) for _ in range(3))
    fast.count(values, predicted)
    scattered._count_by_scatter(values, predicted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "count_into_bins", compiled.count_into_bins.py_func)
        plain.count(values, predicted)
    assert torch.equal(scattered.sums, fast.sums)
    assert torch.equal(plain.sums, fast.sums)
    assert torch.equal(fast.totals, torch.bincount(predicted, minlength=classes))


def test_not_a_number_is_counted_somewhere_harmless() -> None:
    state, scattered = ThresholdState(2), ThresholdState(2)
    values, predicted = torch.tensor([math.nan, -math.inf, math.inf]), torch.tensor([0, 0, 0])
    state.count(values, predicted)
    scattered._count_by_scatter(values, predicted)
    assert torch.equal(state.sums, scattered.sums) and state.totals.tolist() == [3, 0]


def test_bins_widen_in_proportion_to_four_more_than_the_distance_from_chance() -> None:
    values = torch.logspace(2, 9, 400_001, base=2)[:-1] - 4
    state = ThresholdState(2, bins_per_octave=8192)
    state.count(values, torch.zeros(400_000, dtype=torch.int64))
    occupied = state.sums[0, :, 0].nonzero().flatten()
    assert occupied[0] == 0 and occupied[-1] + 1 == len(occupied) == 7 * 8192


@given(st.floats(-2, 4000, width=32), st.integers(1, 3), st.integers(3, 9))
@examples(300)
def test_a_value_alone_in_its_bin_comes_back(value: float, times: int, classes: int) -> None:
    value = max(value, -math.log(classes - 1))
    state = ThresholdState(classes, bins_per_octave=COARSE)
    state.count(torch.full((times,), value), torch.zeros(times, dtype=torch.int64))
    # Rounding, and the millionth by which a threshold lies below, are those of the value's place above chance.
    assert state.thresholds(0.5)[0].item() == pytest.approx(value, abs=3e-6 * (abs(value) + state.offset))


@pytest.mark.parametrize("classes", range(1, 20))
def test_state_stays_under_50_megabytes(classes: int) -> None:
    assert ThresholdState(classes, device="meta").nbytes < 50e6


@pytest.mark.parametrize("portion", [0.0, -0.1, 1.5, math.nan])
def test_an_impossible_portion_is_refused(portion: float) -> None:
    with pytest.raises(ConfigError, match="portion"):
        ThresholdState(2).thresholds(portion)


def test_one_process_reduces_to_itself() -> None:
    state = counted(torch.randn(1, 3, 4, 4))
    before = state.thresholds(0.5)
    state.reduce_over_processes()
    assert torch.equal(state.thresholds(0.5), before)
