"""Log-odds against 200-digit arithmetic."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.pseudo_labels.log_odds import log_odds, predicted_log_odds
from tests import literal
from tests.properties import examples

LOGITS = st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=5)


def as_pixel(logits: list[float]) -> Tensor:
    return torch.tensor(logits).view(1, -1, 1, 1)


@given(LOGITS)
@examples(300)
def test_log_odds_are_those_of_the_softmax(logits: list[float]) -> None:
    expected = [literal.precise_log_odds(p) for p in literal.precise_softmax(logits)]
    assert log_odds(as_pixel(logits)).flatten().tolist() == pytest.approx(expected, rel=1e-4, abs=2e-4)


@given(LOGITS)
@examples(300)
def test_predicted_class_has_the_same_bits_and_nothing_above_it(logits: list[float]) -> None:
    top, predicted = predicted_log_odds(as_pixel(logits))
    every = log_odds(as_pixel(logits)).flatten()
    assert predicted.item() == logits.index(max(logits))
    assert every[predicted].item() == top.item() == every.max()


def test_order_survives_where_float32_probabilities_are_all_one() -> None:
    logits = torch.tensor([[[40.0, 80.0, 200.0]], [[0.0, 0.0, 0.0]]]).unsqueeze(0)
    assert (logits.softmax(1)[:, 0] == 1).all()
    assert predicted_log_odds(logits)[0].flatten().tolist() == [40, 80, 200]


def test_half_precision_logits_are_taken() -> None:
    assert predicted_log_odds(as_pixel([3.0, 1.0]).half())[0].dtype == torch.float32
