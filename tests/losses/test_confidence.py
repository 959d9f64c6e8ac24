"""The divergence from uniform, against plain loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.losses.confidence import divergence_from_uniform
from tests import literal
from tests.gradients import gradient
from tests.properties import examples


def literal_divergence(logits: Tensor, labels: Tensor) -> float:
    """The mean over labelled pixels of sum_k u log(u / p_k), u = 1 / K."""
    terms = []
    for image, truth in zip(logits, labels, strict=True):
        for pixel, label in zip(image.flatten(1).T.tolist(), truth.flatten().tolist(), strict=True):
            if label != IGNORE:
                share = 1 / len(pixel)
                terms.append(sum(share * math.log(share / p) for p in literal.softmax(pixel)))
    return sum(terms) / max(1, len(terms))


@given(
    seed=st.integers(0, 2**32 - 1),
    images=st.integers(0, 3),
    classes=st.integers(2, 5),
    scale=st.sampled_from([0.0, 1.0, 50.0]),
    share=st.sampled_from([0.0, 0.5, 1.0]),
)
@examples(200)
def test_it_is_what_it_says(seed: int, images: int, classes: int, scale: float, share: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(images, classes, 3, 3, generator=generator, dtype=torch.float64) * scale
    labels = torch.where(torch.rand(images, 3, 3, generator=generator) < share, 1, IGNORE)
    expected = literal_divergence(logits, labels)
    assert divergence_from_uniform(logits, labels).item() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_it_is_nought_where_nothing_is_known_and_finite_where_all_is() -> None:
    labels = torch.zeros(1, 2, 2, dtype=torch.uint8)
    assert divergence_from_uniform(torch.ones(1, 3, 2, 2), labels).item() == pytest.approx(0, abs=1e-6)
    logits = torch.tensor([1e4, 0.0, -1e4]).view(1, 3, 1, 1).repeat(1, 1, 2, 2).requires_grad_()
    loss = divergence_from_uniform(logits, labels)
    assert loss.isfinite() and gradient(loss, logits).isfinite().all()


def test_the_gradient_pulls_labelled_pixels_alone_towards_equal_probabilities() -> None:
    logits = torch.tensor([2.0, 0.0]).view(1, 2, 1, 1).repeat(1, 1, 1, 2).requires_grad_()
    slope = gradient(divergence_from_uniform(logits, torch.tensor([[[0, IGNORE]]])), logits)
    p = 1 / (1 + math.exp(-2))
    assert slope[0, :, 0, 0].tolist() == pytest.approx([p - 0.5, 0.5 - p])  # p - u
    assert not slope[..., 1].any()
