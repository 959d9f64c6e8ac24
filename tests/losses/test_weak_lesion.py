"""CDWS's terms against their definitions, image by image, and at the ends where probabilities round to 0 or 1."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import logsigmoid

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.weak_lesion import area_loss, lesion_fractions, log_generalised_mean, mil_loss
from tests.gradients import gradient
from tests.properties import examples

Maps = list[list[list[float]]]  # image, map, pixel


def literal_mean(p: list[float], r: float) -> float:
    return math.pow(sum(value**r for value in p) / len(p), 1 / r)


def literal_mil(p: Maps, tags: list[int], r: float) -> float:
    terms = []
    for maps, tag in zip(p, tags, strict=True):
        if tag != UNKNOWN_TAG:
            scores = [literal_mean(pixels, r) for pixels in maps]
            terms.append(-sum(math.log(score if tag == LESION else 1 - score) for score in scores))
    return sum(terms) / len(terms) if terms else 0.0


def literal_area(p: Maps, tags: list[int], areas: list[float], weights: list[float]) -> float:
    terms = []
    for maps, tag, area in zip(p, tags, areas, strict=True):
        if tag == LESION:
            of_maps = zip(weights, maps, strict=True)
            terms.append(sum(weight * (sum(m) / len(m) - area) ** 2 for weight, m in of_maps))
    return sum(terms) / len(terms) if terms else 0.0


def literal_fraction(mask: list[int]) -> float:
    labelled = [value for value in mask if value != IGNORE]
    return sum(value != NORMAL for value in labelled) / len(labelled) if labelled else 0.0


@st.composite
def images(draw: st.DrawFn) -> tuple[Tensor, list[int]]:
    """Lesion probabilities [B, M, H, W], and tags."""
    shape = [draw(st.integers(*limits)) for limits in ((1, 3), (1, 3), (1, 3), (1, 3))]
    count = math.prod(shape)
    values = st.floats(1e-3, 1 - 1e-3)
    p = torch.tensor(draw(st.lists(values, min_size=count, max_size=count)), dtype=torch.float64).view(shape)
    tag = st.sampled_from([NORMAL, LESION, UNKNOWN_TAG])
    return p, draw(st.lists(tag, min_size=shape[0], max_size=shape[0]))


exponents = st.floats(1, 8)


@given(images(), exponents)
@examples(150)
def test_the_generalised_mean_is_the_literal_one(image: tuple[Tensor, list[int]], r: float) -> None:
    p, _ = image
    found = log_generalised_mean(p.log(), r)
    expected = [[literal_mean(pixels, r) for pixels in maps] for maps in p.flatten(2).tolist()]
    torch.testing.assert_close(found.exp(), torch.tensor(expected, dtype=torch.float64))


@given(images(), exponents)
@examples(150)
def test_mil_is_the_literal_one(image: tuple[Tensor, list[int]], r: float) -> None:
    p, tags = image
    found = mil_loss(log_generalised_mean(p.log(), r), torch.tensor(tags))
    assert found.item() == pytest.approx(literal_mil(p.flatten(2).tolist(), tags, r), rel=1e-9, abs=1e-12)


@given(images(), st.data())
@examples(150)
def test_the_area_term_is_the_literal_one(image: tuple[Tensor, list[int]], data: st.DataObject) -> None:
    p, tags = image
    areas = data.draw(st.lists(st.floats(0, 1), min_size=len(p), max_size=len(p)))
    weights = data.draw(st.lists(st.floats(0, 10), min_size=p.shape[1], max_size=p.shape[1]))
    found = area_loss(p.log(), torch.tensor(tags), torch.tensor(areas, dtype=torch.float64), tuple(weights))
    expected = literal_area(p.flatten(2).tolist(), tags, areas, weights)
    assert found.item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.lists(st.lists(st.sampled_from([NORMAL, LESION, IGNORE]), min_size=6, max_size=6), min_size=1, max_size=4))
@examples(100)
def test_fractions_are_the_literal_ones(masks: list[list[int]]) -> None:
    fractions, known = lesion_fractions(torch.tensor(masks).view(-1, 2, 3))
    assert fractions.tolist() == pytest.approx([literal_fraction(mask) for mask in masks])
    assert known.tolist() == [any(value != IGNORE for value in mask) for mask in masks]


def test_the_mean_runs_from_the_plain_mean_to_the_maximum() -> None:
    p = torch.tensor([0.1, 0.2, 0.9, 0.4], dtype=torch.float64).view(1, 1, 2, 2)
    assert log_generalised_mean(p.log(), 1.0).exp().item() == pytest.approx(0.4)
    assert log_generalised_mean(p.log(), 500.0).exp().item() == pytest.approx(0.9, rel=1e-2)


@pytest.mark.parametrize("logit", [-60.0, -20.0, 20.0, 60.0])
def test_maps_that_are_sure_everywhere_keep_score_and_gradient_in_single_precision(logit: float) -> None:
    """A map of one value has just this value as its score, however close to 0 or 1."""
    logits = torch.full((2, 1, 8, 8), logit, requires_grad=True)
    tags = torch.tensor([LESION, NORMAL])
    loss = mil_loss(log_generalised_mean(logsigmoid(logits), 4.0), tags)
    assert loss.item() == pytest.approx(abs(logit) / 2, rel=1e-5)  # one of the two images is all wrong
    slope = gradient(loss, logits)
    wrong = 1 if logit > 0 else 0
    expected = (1 if logit > 0 else -1) / 2 / 64
    assert slope[wrong].flatten().tolist() == pytest.approx([expected] * 64, rel=1e-4)


@pytest.mark.parametrize("logit", [-1e4, 1e4])
def test_nothing_overflows(logit: float) -> None:
    logits = torch.full((2, 1, 4, 4), logit)
    logits[:, :, 0, 0] = -logit
    logits.requires_grad_()
    loss = mil_loss(log_generalised_mean(logsigmoid(logits), 4.0), torch.tensor([LESION, NORMAL]))
    assert gradient(loss, logits).isfinite().all()


def test_one_pixel_of_very_many_still_counts_in_single_precision() -> None:
    logits = torch.full((1, 1, 2000, 2000), -30.0)
    logits[..., 7, 7] = 30.0
    expected = (1 / 2000**2) ** (1 / 4)
    assert log_generalised_mean(logsigmoid(logits), 4.0).exp().item() == pytest.approx(expected, rel=1e-4)


def test_gradients_are_exact() -> None:
    logits = torch.randn(3, 2, 2, 2, dtype=torch.float64, requires_grad=True)
    tags = torch.tensor([LESION, NORMAL, UNKNOWN_TAG])
    areas = torch.tensor([0.2, 0.3, 0.4], dtype=torch.float64)

    def loss(logits: Tensor) -> Tensor:
        log_p = logsigmoid(logits)
        return mil_loss(log_generalised_mean(log_p, 4.0), tags) + area_loss(log_p, tags, areas, (2.5, 5.0))

    assert torch.autograd.gradcheck(loss, logits)


def test_half_precision_is_averaged_in_float32() -> None:
    log_p = torch.full((1, 1, 40, 40), math.log(0.5), dtype=torch.bfloat16)
    lesion, area = torch.tensor([LESION]), torch.tensor([0.0])
    mil = mil_loss(log_generalised_mean(log_p, 4.0), lesion)
    assert mil.dtype == area_loss(log_p, lesion, area, (1.0,)).dtype == torch.float32
    assert mil.item() == pytest.approx(math.log(2), rel=1e-2)


def test_without_tags_and_without_positives_there_is_nothing_to_learn() -> None:
    log_p = logsigmoid(torch.randn(2, 3, 4, 4)).requires_grad_()
    unknown, normal = torch.full((2,), UNKNOWN_TAG), torch.full((2,), NORMAL)
    loss = mil_loss(log_generalised_mean(log_p, 4.0), unknown) + area_loss(log_p, normal, torch.ones(2), (1.0,) * 3)
    assert loss.item() == 0 and not gradient(loss, log_p).any()
