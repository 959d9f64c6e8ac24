"""Label distributions and the curriculum's loss against their definitions, pixel by pixel."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.losses.label_distribution import (
    counts_by_row,
    distribution_loss,
    label_distributions,
    sharpened_log_distribution,
)
from tests.gradients import gradient
from tests.literal import softmax
from tests.properties import examples


def literal_sharpened(pixels: list[list[float]], power: float) -> list[float]:
    """One image's pixels of logits: (p / max p)^power, its mean over pixels, divided by the sum over classes."""
    classes = len(pixels[0])
    sums = [0.0] * classes
    for logits in pixels:
        p = softmax(logits)
        for k in range(classes):
            sums[k] += (p[k] / max(p)) ** power / len(pixels)
    return [value / sum(sums) for value in sums]


@st.composite
def maps(draw: st.DrawFn) -> Tensor:
    shape = [draw(st.integers(*limits)) for limits in ((1, 3), (2, 5), (1, 3), (1, 3))]
    count = math.prod(shape)
    values = draw(st.lists(st.floats(-8, 8), min_size=count, max_size=count))
    return torch.tensor(values, dtype=torch.float64).view(shape)


@given(maps(), st.sampled_from([1.0, 5.0]))
@examples(100)
def test_the_loss_is_the_literal_one(logits: Tensor, power: float) -> None:
    wanted = torch.rand(logits.shape[:2], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    wanted /= wanted.sum(1, keepdim=True)
    expected = 0.0
    for image, h in zip(logits, wanted, strict=True):
        q = literal_sharpened(image.flatten(1).T.tolist(), power)
        expected -= sum(share * math.log(found) for share, found in zip(h.tolist(), q, strict=True)) / len(logits)
    assert distribution_loss(logits, wanted, power).item() == pytest.approx(expected, rel=1e-9)


def test_sharpening_counts_sure_pixels_as_votes() -> None:
    logits = torch.zeros(1, 2, 1, 4)
    logits[0, 0, 0, :3], logits[0, 1, 0, 3] = 4.0, 4.0
    shares = sharpened_log_distribution(logits).exp()[0]
    assert shares.tolist() == pytest.approx([0.75, 0.25], abs=1e-6)
    assert sharpened_log_distribution(logits, 0.1).exp()[0, 0] < 0.6


@given(maps())
@settings(max_examples=20, deadline=None)
def test_the_distribution_sums_to_1(logits: Tensor) -> None:
    torch.testing.assert_close(sharpened_log_distribution(logits).exp().sum(1), torch.ones(len(logits)).double())


def test_saturated_logits_have_a_finite_loss_and_gradient() -> None:
    logits = torch.tensor([1e4, -1e4, 3e4, 0.0]).view(1, 2, 1, 2).requires_grad_()
    loss = distribution_loss(logits, torch.tensor([[0.5, 0.5]]))
    assert loss.isfinite() and gradient(loss, logits).isfinite().all()


def test_half_precision_is_summed_in_float32() -> None:
    logits = torch.zeros(1, 2, 40, 40, dtype=torch.bfloat16)
    loss = distribution_loss(logits, torch.tensor([[0.25, 0.75]]))
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(math.log(2), rel=1e-6)


def test_gradients_are_exact() -> None:
    logits = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    wanted = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: distribution_loss(x, wanted), logits)


def test_shares_are_of_labelled_pixels() -> None:
    masks = torch.tensor([[[0, 1, 1, 1]], [[2, 2, IGNORE, IGNORE]], [[IGNORE] * 4]])
    expected = [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert label_distributions(masks, 3).tolist() == expected
    assert label_distributions(masks.to(torch.uint8), 3).tolist() == expected


@given(st.lists(st.lists(st.integers(0, 6), min_size=5, max_size=5), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_counts_by_row_are_counts(rows: list[list[int]]) -> None:
    assert counts_by_row(torch.tensor(rows), 7).tolist() == [[row.count(name) for name in range(7)] for row in rows]
