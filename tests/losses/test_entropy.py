"""ADVENT's maps and MinEnt's objective against their definitions, pixel by pixel."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.losses.entropy import mean_entropy, self_information
from tests.gradients import gradient
from tests.properties import examples


def literal_information(pixel: list[float]) -> list[float]:
    """-P log2 P / log2 K of one pixel's logits; P log P is 0 where P is."""
    powers = [math.exp(x - max(pixel)) for x in pixel]
    probabilities = [power / sum(powers) for power in powers]
    return [-p * math.log2(p) / math.log2(len(pixel)) if p else 0.0 for p in probabilities]


@st.composite
def maps(draw: st.DrawFn) -> Tensor:
    shape = [draw(st.integers(*limits)) for limits in ((1, 2), (2, 5), (1, 3), (1, 3))]
    values = st.floats(-800, 800)
    count = math.prod(shape)
    return torch.tensor(draw(st.lists(values, min_size=count, max_size=count)), dtype=torch.float64).view(shape)


@given(maps())
@examples(150)
def test_self_information_is_the_literal_one(logits: Tensor) -> None:
    expected = [literal_information(pixel) for pixel in logits.movedim(1, -1).flatten(0, 2).tolist()]
    found = self_information(logits)
    assert found.shape == logits.shape
    for pixel, literal in zip(found.movedim(1, -1).flatten(0, 2).tolist(), expected, strict=True):
        assert pixel == pytest.approx(literal, rel=1e-9, abs=1e-12)


@given(maps())
@examples(150)
def test_mean_entropy_is_the_literal_one(logits: Tensor) -> None:
    pixels = logits.movedim(1, -1).flatten(0, 2).tolist()
    expected = sum(sum(literal_information(pixel)) for pixel in pixels) / len(pixels)
    assert mean_entropy(logits).item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 5, 19])
def test_entropy_runs_from_0_of_a_sure_prediction_to_1_of_an_even_one(classes: int) -> None:
    even = torch.zeros(1, classes, 2, 2)
    sure = even.clone()
    sure[:, 0] = 1e4
    assert mean_entropy(even).item() == pytest.approx(1)
    assert mean_entropy(sure).item() == 0


@pytest.mark.parametrize("function", [mean_entropy, lambda logits: self_information(logits).square().sum()])
def test_saturated_logits_have_a_finite_gradient(function: Callable[[Tensor], Tensor]) -> None:
    logits = torch.tensor([1e4, -1e4, 0.0, 3e4]).view(1, 2, 1, 2).requires_grad_()
    assert gradient(function(logits), logits).isfinite().all()


def test_gradients_are_exact() -> None:
    logits = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(self_information, logits)
    assert torch.autograd.gradcheck(mean_entropy, logits)


def test_half_precision_is_averaged_in_float32() -> None:
    logits = torch.zeros(1, 2, 40, 40, dtype=torch.bfloat16)
    assert mean_entropy(logits).dtype == torch.float32
    assert mean_entropy(logits).item() == pytest.approx(1, rel=1e-6)
