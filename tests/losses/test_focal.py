"""The focal loss against its definition, pixel by pixel."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from endotransfer.batch import IGNORE
from endotransfer.losses.focal import focal_loss
from tests.gradients import gradient
from tests.properties import examples

pixels = st.lists(st.tuples(st.floats(-20, 20), st.sampled_from([0, 1, IGNORE])), min_size=1, max_size=12)


def literal(values: list[tuple[float, int]], gamma: float, alpha: float) -> float:
    terms = []
    for logit, label in values:
        if label != IGNORE:
            lesion = 1 / (1 + math.exp(-logit))
            other = 1 / (1 + math.exp(logit))
            p, wrong, factor = (lesion, other, alpha) if label == 1 else (other, lesion, 1 - alpha)
            terms.append(-factor * wrong**gamma * math.log(p))
    return sum(terms) / len(terms) if terms else 0.0


@given(pixels, st.floats(0, 5), st.floats(0.01, 0.99))
@examples(200)
def test_it_is_the_literal_one(values: list[tuple[float, int]], gamma: float, alpha: float) -> None:
    logits = torch.tensor([[[logit for logit, _ in values]]], dtype=torch.float64)
    labels = torch.tensor([[[label for _, label in values]]])
    assert focal_loss(logits, labels, gamma, alpha).item() == pytest.approx(literal(values, gamma, alpha), rel=1e-9)


def test_without_focus_it_is_half_the_cross_entropy() -> None:
    logits, labels = torch.randn(2, 3, 3), torch.randint(0, 2, (2, 3, 3))
    expected = binary_cross_entropy_with_logits(logits, labels.float()) / 2
    torch.testing.assert_close(focal_loss(logits, labels, gamma=0.0, alpha=0.5), expected)


def test_what_is_easy_counts_for_little() -> None:
    easy, hard = torch.tensor([[[3.0]]]), torch.tensor([[[-3.0]]])
    border = torch.ones(1, 1, 1, dtype=torch.int64)
    plain = focal_loss(hard, border, gamma=0.0) / focal_loss(easy, border, gamma=0.0)
    assert focal_loss(hard, border) / focal_loss(easy, border) > 100 * plain


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("logit", [-1e4, 1e4])
@pytest.mark.parametrize("label", [0, 1, IGNORE])
def test_sure_logits_have_a_finite_loss_and_gradient(gamma: float, logit: float, label: int) -> None:
    logits = torch.full((1, 1, 1), logit, requires_grad=True)
    loss = focal_loss(logits, torch.full((1, 1, 1), label), gamma)
    assert loss.isfinite() and gradient(loss, logits).isfinite().all()


def test_gradients_are_exact() -> None:
    logits = torch.randn(1, 3, 3, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 2, (1, 3, 3))
    assert torch.autograd.gradcheck(lambda values: focal_loss(values, labels), logits)


def test_half_precision_is_averaged_in_float32() -> None:
    logits = torch.zeros(1, 60, 60, dtype=torch.bfloat16)
    loss = focal_loss(logits, torch.ones(1, 60, 60, dtype=torch.int64))
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(0.25 * 0.25 * math.log(2), rel=1e-6)
