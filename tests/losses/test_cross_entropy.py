"""Equations 2 and 3 against sums by hand."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.cross_entropy import Reduction, classification, segmentation, segmentation_by_tag
from tests import literal
from tests.gradients import gradient
from tests.properties import examples

Batch = tuple[Tensor, Tensor]


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Logits [B, K, h, w] float64, labels [B, h, w], some, all or none of them IGNORE."""
    shape = [draw(st.integers(1, top)) for top in (3, 5, 3, 3)]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    logits = torch.randn(shape, generator=generator, dtype=torch.float64) * draw(st.sampled_from([1.0, 50.0]))
    labels = torch.randint(0, shape[1], (shape[0], *shape[2:]), generator=generator)
    hidden = torch.rand(labels.shape, generator=generator) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    labels[hidden] = IGNORE
    return logits, labels


@given(batches())
@examples(300)
def test_sum_is_equation_3_and_mean_is_over_labelled_pixels(batch: Batch) -> None:
    logits, labels = batch
    images = [
        (image.flatten(1).T.tolist(), truth.flatten().tolist()) for image, truth in zip(logits, labels, strict=True)
    ]
    expected = literal.equation_3(images)
    assert segmentation(logits, labels, "sum").item() == pytest.approx(expected, abs=1e-9)
    by_image = segmentation(logits, labels, "image_mean").item()
    assert by_image == pytest.approx(expected / labels[0].numel(), abs=1e-9)
    labelled = int((labels != IGNORE).sum())
    assert segmentation(logits, labels).item() == pytest.approx(expected * len(images) / max(1, labelled), abs=1e-9)


@given(st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20), st.sampled_from([0, 1, UNKNOWN_TAG])), max_size=6))
@examples(300)
def test_classification_is_equation_2_over_known_tags(rows: list[tuple[float, float, int]]) -> None:
    logits = torch.tensor([row[:2] for row in rows], dtype=torch.float64).view(-1, 2)
    tags = torch.tensor([row[2] for row in rows], dtype=torch.int64)
    terms = [literal.cross_entropy(list(row[:2]), row[2]) for row in rows if row[2] != UNKNOWN_TAG]
    expected = sum(terms) / max(1, len(terms))
    assert classification(logits, tags).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("reduction", get_args(Reduction))
@pytest.mark.parametrize("images", [0, 2])
def test_nothing_labelled_is_zero_with_zero_gradient(reduction: Reduction, images: int) -> None:
    logits = torch.randn(images, 3, 4, 4, requires_grad=True)
    tags = torch.randn(images, 2, requires_grad=True)
    loss = segmentation(logits, torch.full((images, 4, 4), IGNORE), reduction)
    loss = loss + classification(tags, torch.full((images,), UNKNOWN_TAG))
    assert loss.item() == 0
    assert (gradient(loss, logits, retain_graph=True) == 0).all() and (gradient(loss, tags) == 0).all()


@pytest.mark.parametrize("reduction", get_args(Reduction))
def test_gradients_are_exact(reduction: Reduction) -> None:
    logits = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[[0, 2], [IGNORE, 1]], [[1, 1], [IGNORE, 0]]])
    assert torch.autograd.gradcheck(lambda x: segmentation(x, labels, reduction), logits)


def test_weights_scale_terms_by_class_or_by_pixel() -> None:
    logits = torch.randn(1, 2, 2, 2)
    labels = torch.tensor([[[0, 1], [1, IGNORE]]], dtype=torch.uint8)
    plain = segmentation(logits, labels)
    assert segmentation(logits, labels, weights=torch.full((1, 2, 2), 0.5)).item() == pytest.approx(plain.item() / 2)
    by_pixel = torch.tensor([[[3.0, 1.0], [1.0, 9.0]]])
    by_class = torch.tensor([3.0, 1.0])
    weighted = segmentation(logits, labels, weights=by_pixel)
    assert weighted.item() == pytest.approx(segmentation(logits, labels, weights=by_class).item())
    assert weighted.item() != pytest.approx(plain.item())


def test_half_precision_is_averaged_in_float32() -> None:
    loss = segmentation(torch.zeros(1, 2, 64, 64, dtype=torch.bfloat16), torch.zeros(1, 64, 64, dtype=torch.uint8))
    assert loss.dtype == torch.float32 and loss.item() == pytest.approx(0.6931472, rel=1e-6)


def test_both_kinds_of_image_have_the_same_say_whatever_is_labelled_of_them() -> None:
    torch.manual_seed(0)
    logits, labels = torch.randn(5, 2, 4, 4), torch.randint(0, 2, (5, 4, 4))
    labels[0, :3], labels[3] = IGNORE, IGNORE  # a lesion image labelled in part, and one not at all
    tags = torch.tensor([LESION, LESION, NORMAL, LESION, UNKNOWN_TAG])
    one_by_one = [float(segmentation(logits[i : i + 1], labels[i : i + 1])) for i in range(5)]
    expected = (one_by_one[0] + one_by_one[1]) / 2 + (one_by_one[2] + one_by_one[4]) / 2
    assert float(segmentation_by_tag(logits, labels, tags)) == pytest.approx(expected)
    alone = segmentation_by_tag(logits[:2], labels[:2], tags[:2])
    assert float(alone) == pytest.approx((one_by_one[0] + one_by_one[1]) / 2)
    assert segmentation_by_tag(logits[3:4], labels[3:4], tags[3:4]) == 0
