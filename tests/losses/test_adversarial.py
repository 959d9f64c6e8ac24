"""Equation 6 from both sides."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.losses.adversarial import critic_accuracy, critic_loss, fooling_loss
from tests import literal
from tests.gradients import gradient
from tests.properties import examples

SCORES = st.lists(st.floats(-8, 8), min_size=1, max_size=6)


@given(SCORES, SCORES)
@examples(300)
def test_critic_minimises_the_negative_of_equation_6(source: list[float], target: list[float]) -> None:
    loss = critic_loss(torch.tensor(source).double(), torch.tensor(target).double())
    assert loss.item() == pytest.approx(-literal.equation_6(source, target), rel=1e-6)


@given(SCORES)
@examples(300)
def test_fooling_scores_target_as_source(target: list[float]) -> None:
    expected = -sum(math.log(1 - 1 / (1 + math.exp(-score))) for score in target) / len(target)
    assert fooling_loss(torch.tensor(target).double()).item() == pytest.approx(expected, rel=1e-6)


@given(SCORES, SCORES)
@examples(300)
def test_accuracy_is_the_share_of_right_decisions_domains_counting_alike(
    source: list[float], target: list[float]
) -> None:
    def right(scores: list[float], sign: int) -> float:
        return sum(1.0 if sign * score > 0 else 0.5 if score == 0 else 0.0 for score in scores) / len(scores)

    expected = (right(source, -1) + right(target, 1)) / 2
    found = critic_accuracy(*(torch.tensor(scores, dtype=torch.float64) for scores in (source, target)))
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_fooling_gradient_is_strongest_where_the_critic_is_sure() -> None:
    score = torch.tensor([-20.0, 0.0, 20.0], requires_grad=True)
    assert (3 * gradient(fooling_loss(score), score)).tolist() == pytest.approx([0.0, 0.5, 1.0], abs=1e-6)


def test_gradients_are_exact() -> None:
    scores = [torch.randn(2, 1, 3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(critic_loss, scores)


@pytest.mark.parametrize("score", [torch.tensor([1e4, -1e4]), torch.zeros(0)], ids=["extreme", "empty"])
def test_extreme_and_missing_scores_stay_finite(score: Tensor) -> None:
    score.requires_grad_()
    loss = critic_loss(score, score) + fooling_loss(score)
    assert loss.isfinite() and gradient(loss, score).isfinite().all()


def test_half_precision_scores_are_averaged_in_float32() -> None:
    assert fooling_loss(torch.zeros(300, dtype=torch.bfloat16)).item() == pytest.approx(math.log(2), rel=1e-6)
