"""What tags say about pixels."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.tag_loss import missed_lesion_loss, tag_loss
from endotransfer.pseudo_labels.rules import veto
from tests import literal
from tests.gradients import gradient
from tests.properties import examples

LABELS = torch.tensor([[[0, 1], [2, IGNORE]]] * 3, dtype=torch.uint8)
TAGS = torch.tensor([NORMAL, LESION, UNKNOWN_TAG])


def test_veto_removes_lesion_labels_from_normal_images_only() -> None:
    result = veto(LABELS, TAGS)
    assert result[0].tolist() == [[0, IGNORE], [IGNORE, IGNORE]]
    assert torch.equal(result[1:], LABELS[1:]) and result.dtype == torch.uint8


def test_fill_normal_labels_every_pixel_of_a_normal_image() -> None:
    result = veto(LABELS, TAGS, fill_normal=True)
    assert (result[0] == 0).all() and torch.equal(result[1:], LABELS[1:])


def literal_tag_loss(logits: Tensor, tags: Tensor, labels: Tensor, top_share: float) -> float:
    on_normal, on_lesion = [], []
    for image, tag, truth in zip(logits, tags.tolist(), labels, strict=True):
        pixels = [literal.softmax(pixel) for pixel in image.flatten(1).T.tolist()]
        if tag == NORMAL:
            open_pixels = [p for p, label in zip(pixels, truth.flatten().tolist(), strict=True) if label == IGNORE]
            on_normal += [-math.log(p[0]) for p in open_pixels]
        if tag == LESION:
            surest = sorted((sum(p[1:]) for p in pixels), reverse=True)[: max(1, math.ceil(top_share * len(pixels)))]
            on_lesion.append(-math.log(sum(surest) / len(surest)))
    return sum(sum(terms) / max(1, len(terms)) for terms in (on_normal, on_lesion))


@given(
    seed=st.integers(0, 2**32 - 1),
    image_tags=st.lists(st.sampled_from([NORMAL, LESION, UNKNOWN_TAG]), max_size=3),
    classes=st.integers(2, 5),
    scale=st.sampled_from([1.0, 50.0]),
    top_share=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
)
@examples(300)
def test_tag_loss_is_what_it_says(
    seed: int, image_tags: list[int], classes: int, scale: float, top_share: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    tags = torch.tensor(image_tags, dtype=torch.int64)
    logits = torch.randn(len(tags), classes, 3, 3, generator=generator, dtype=torch.float64) * scale
    labels = torch.where(torch.rand(len(tags), 3, 3, generator=generator) < 0.5, IGNORE, 0)
    expected = literal_tag_loss(logits, tags, labels, top_share)
    assert tag_loss(logits, tags, labels, top_share).item() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_without_labels_every_pixel_of_a_normal_image_counts() -> None:
    logits = torch.randn(2, 3, 4, 4)
    open_pixels = torch.full((2, 4, 4), IGNORE)
    tags = torch.tensor([NORMAL, LESION])
    assert torch.equal(tag_loss(logits, tags), tag_loss(logits, tags, open_pixels))


def test_gradients_are_exact() -> None:
    logits = torch.randn(3, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: tag_loss(x, TAGS, top_share=0.3), logits)


@pytest.mark.parametrize("tag", [NORMAL, LESION, UNKNOWN_TAG])
@pytest.mark.parametrize("label", [0, IGNORE])
@pytest.mark.parametrize("scale", [0.0, 1e4])
def test_loss_and_gradient_stay_finite_in_every_extreme(tag: int, label: int, scale: float) -> None:
    logits = (torch.tensor([-1.0, 1.0]).view(1, 2, 1, 1) * scale).expand(1, 2, 3, 3).clone().requires_grad_()
    loss = tag_loss(logits, torch.tensor([tag]), torch.full((1, 3, 3), label))
    slope = gradient(loss, logits)
    assert loss.isfinite() and slope.isfinite().all()
    if tag == UNKNOWN_TAG or (tag == NORMAL and label == 0):
        assert loss == 0 and (slope == 0).all()


def literal_missed_lesion_loss(logits: Tensor, tags: Tensor, top_share: float) -> float:
    terms = []
    for image, tag in zip(logits, tags.tolist(), strict=True):
        if tag != LESION:
            continue
        chances = [sum(literal.softmax(pixel)[1:]) for pixel in image.flatten(1).T.tolist()]
        odds = sorted((math.log(p / (1 - p)) for p in chances), reverse=True)
        surest = odds[: max(1, math.ceil(top_share * len(odds)))]
        terms.append(max(0.0, -sum(surest) / len(surest)))
    return sum(terms) / max(1, len(terms))


@given(
    seed=st.integers(0, 2**32 - 1),
    image_tags=st.lists(st.sampled_from([NORMAL, LESION, UNKNOWN_TAG]), max_size=4),
    classes=st.integers(2, 5),
    shift=st.sampled_from([-4.0, 0.0, 4.0]),
    top_share=st.sampled_from([0.0, 0.2, 1.0]),
)
@examples(200)
def test_missed_lesion_loss_is_what_it_says(
    seed: int, image_tags: list[int], classes: int, shift: float, top_share: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    tags = torch.tensor(image_tags, dtype=torch.int64)
    logits = torch.randn(len(tags), classes, 3, 3, generator=generator, dtype=torch.float64)
    logits[:, 1:] += shift
    expected = literal_missed_lesion_loss(logits, tags, top_share)
    assert missed_lesion_loss(logits, tags, top_share).item() == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_missed_lesion_is_pulled_at_its_likeliest_places_and_one_that_shows_not_at_all() -> None:
    """Of 20 x 20 pixels the surest four count: none is painted, one is, all are; and a normal image."""
    logits = torch.zeros(4, 2, 20, 20)
    logits[:, 0] = 2.0  # normal everywhere
    logits[:3, 1, 4:6, 4:6] = 1.0  # likeliest there
    logits[1, 1, 4, 4] = 3.0  # a lesion smaller than what the loss asks for: it is enlarged
    logits[2, 1, 4:6, 4:6] = 3.0
    logits.requires_grad_()
    slope = gradient(missed_lesion_loss(logits, torch.tensor([LESION, LESION, LESION, NORMAL])), logits)
    for image in (0, 1):
        assert (slope[image, 1] < 0).nonzero().tolist() == [[4, 4], [4, 5], [5, 4], [5, 5]]
    assert not slope[2:].any()
