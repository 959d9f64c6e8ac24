"""Equation 5 against 200-digit arithmetic."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from endotransfer.batch import IGNORE
from endotransfer.pseudo_labels.assign import CLEAR, assign, assign_clear
from endotransfer.pseudo_labels.thresholds import ThresholdState
from tests import literal
from tests.properties import examples


def assign_pixel(logits: list[float], thresholds: list[float]) -> int:
    return int(assign(torch.tensor(logits).view(1, -1, 1, 1), torch.tensor(thresholds)).item())


@st.composite
def pixels(draw: st.DrawFn) -> list[list[float]]:
    classes = draw(st.integers(1, 5))
    span = draw(st.sampled_from([3, 20, 200]))
    logit = st.floats(-span, span, width=32)
    threshold = st.floats(-span, span, width=32) | st.just(math.inf)
    return [draw(st.lists(kind, min_size=classes, max_size=classes)) for kind in (logit, threshold)]


@given(pixels())
@examples(600)
def test_label_is_that_of_equation_5(pixel: list[list[float]]) -> None:
    logits, thresholds = pixel
    for p, threshold in zip(literal.precise_softmax(logits), thresholds, strict=True):
        odds = literal.precise_log_odds(p)  # too near to the threshold float32 cannot tell, and neither answer is wrong
        assume(odds == math.inf or threshold == math.inf or abs(odds - threshold) > 1e-3)
    label, expected = assign_pixel(logits, thresholds), literal.equation_5(logits, thresholds)
    if label != expected:
        ratios = literal.ratios(logits, thresholds)
        assert IGNORE not in (label, expected)
        assert float((ratios[label] / ratios[expected]).ln()) == pytest.approx(0, abs=2e-4)


def test_the_largest_ratio_wins_over_the_largest_probability() -> None:
    assert assign_pixel([0.4, 0.3, -0.5], [3.0, -1.5, -1.0]) == 1


def test_equal_ratios_go_to_the_lowest_class() -> None:
    assert assign_pixel([1.0, 1.0, 0.0], [-2.0, -2.0, -2.0]) == 0


def test_a_value_at_its_threshold_does_not_pass() -> None:
    assert assign_pixel([2.0, 0.0], [2.0, 0.0]) == IGNORE
    assert assign_pixel([2.0, 0.0], [1.9999999, 0.0]) == 0


def test_saturated_predictions_are_told_apart() -> None:
    assert assign_pixel([100.0, 0.0], [101.0, 0.0]) == IGNORE
    assert assign_pixel([102.0, 0.0], [101.0, 0.0]) == 0


def test_labels_are_bytes_and_leave_out_classes_without_threshold() -> None:
    labels = assign(torch.randn(2, 3, 4, 5), torch.full((3,), math.inf))
    assert labels.dtype == torch.uint8 and labels.shape == (2, 4, 5)
    assert (labels == IGNORE).all()


@pytest.mark.parametrize("margin", [0.0, 100.0])
def test_with_two_classes_the_portion_of_each_is_labelled(margin: float) -> None:
    logits = torch.randn(2, 2, 100, 100, generator=torch.Generator().manual_seed(0))
    logits += margin * torch.nn.functional.one_hot(logits.argmax(1), 2).movedim(-1, 1)
    state = ThresholdState(2)
    state.update(logits)
    labels = assign(logits, state.thresholds(0.35))
    for k in range(2):
        assert ((labels == k).sum() / state.totals[k]).item() == pytest.approx(0.35, abs=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 19])
def test_above_even_odds_only_the_predicted_class_need_be_looked_at(classes: int) -> None:
    generator = torch.Generator().manual_seed(classes)
    for scale in (0.1, 1.0, 30.0):
        logits = scale * torch.randn(2, classes, 24, 24, generator=generator)
        logits[0, :, :4] = logits[0, :1, :4]  # ties
        logits[1, 1, 5] = logits[1, 0, 5] = 60000.0  # saturated ties
        for low in (2 * CLEAR, 0.5, 5.0):
            thresholds = low + torch.rand(classes, generator=generator)
            thresholds[-1] = torch.inf
            assert torch.equal(assign_clear(logits, thresholds), assign(logits, thresholds))
    assert not torch.equal(assign_clear(logits, -thresholds), assign(logits, -thresholds))  # hence the condition
