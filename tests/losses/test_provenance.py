"""LSD's terms against their definitions."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.losses.provenance import Provenance, absolute_error, taken_for
from tests.properties import examples

CELLS = st.lists(st.lists(st.floats(-20, 20), min_size=4, max_size=4), min_size=1, max_size=5)


@given(CELLS, st.sampled_from(list(Provenance)))
@examples(200)
def test_being_taken_for_a_case_costs_its_negative_log_share(cells: list[list[float]], case: Provenance) -> None:
    costs = [math.log(sum(math.exp(score) for score in scores)) - scores[case] for scores in cells]
    scores = torch.tensor(cells, dtype=torch.float64).T[None, :, :, None]  # [1, 4, cells, 1]
    assert taken_for(case, scores).item() == pytest.approx(sum(costs) / len(costs), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("case", list(Provenance))
def test_the_scores_channel_is_the_cases_value(case: Provenance) -> None:
    scores = torch.zeros(1, 4, 1, 1)
    scores[:, case] = 50.0
    costs = [taken_for(other, scores).item() for other in Provenance]
    assert costs == pytest.approx([0.0 if other is case else 50.0 for other in Provenance])


def test_absolute_error_is_the_mean_over_all_values_and_has_exact_gradients() -> None:
    images, originals = torch.tensor([[0.0, 1.0], [0.5, 0.25]]), torch.tensor([[0.5, 0.0], [0.5, 0.5]])
    assert absolute_error(images, originals).item() == pytest.approx((0.5 + 1 + 0 + 0.25) / 4)
    some = torch.randn(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: absolute_error(x, torch.zeros_like(x)), some)


def test_half_precision_is_averaged_in_float32() -> None:
    scores = torch.zeros(1, 4, 20, 20, dtype=torch.bfloat16)
    assert taken_for(Provenance.TARGET_FAKE, scores).item() == pytest.approx(math.log(4), rel=1e-6)
    assert absolute_error(scores, torch.full(scores.shape, 0.3)).item() == pytest.approx(0.3, rel=1e-6)
