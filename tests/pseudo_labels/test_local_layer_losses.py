"""The losses of the local layer against literal loops."""

import math
import statistics

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.pseudo_labels.local_layer import REST, TOP, source_loss, spread_in_lesion_images, target_loss
from tests.gradients import gradient
from tests.random_scores import SEEDS, random_scores


def softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + max(x, 0)


@given(SEEDS)
def test_source_loss_is_the_cross_entropy_of_known_pixels(seed: int) -> None:
    scores = random_scores(seed, 2, 3, 4)
    masks = torch.tensor(np.random.default_rng(seed).choice([0, 1, 3, IGNORE], size=(2, 3, 4)))
    terms = []
    for score, label in zip(scores.flatten().tolist(), masks.flatten().tolist(), strict=True):
        if label != IGNORE:
            terms.append(softplus(score) if label == NORMAL else softplus(-score))
    assert source_loss(scores, masks).item() == pytest.approx(sum(terms) / max(1, len(terms)))


def test_masks_without_any_known_pixel_say_nothing() -> None:
    scores = torch.ones(1, 2, 2, requires_grad=True)
    loss = source_loss(scores, torch.full((1, 2, 2), IGNORE))
    assert loss == 0 and (gradient(loss, scores) == 0).all()


def literal_target_loss(images: list[list[float]], tags: list[int]) -> float:
    by_tag: dict[int, list[float]] = {NORMAL: [], LESION: [], UNKNOWN_TAG: []}
    for image, tag in zip(images, tags, strict=True):
        ascending = sorted(image)
        top = ascending[-max(1, math.floor(TOP * len(image))) :]
        rest = ascending[: max(1, math.floor(REST * len(image)))]
        if tag == NORMAL:
            loss = statistics.fmean(map(softplus, image)) + 0.5 * statistics.fmean(map(softplus, top))
        else:
            loss = statistics.fmean(softplus(-x) for x in top) + 0.5 * statistics.fmean(map(softplus, rest))
        by_tag[tag].append(loss)
    return sum((sum(by_tag[tag]) / max(1, len(by_tag[tag])) for tag in (NORMAL, LESION)), start=0.0)


@given(SEEDS, st.lists(st.sampled_from([NORMAL, LESION, UNKNOWN_TAG]), min_size=1, max_size=4), st.integers(1, 6))
def test_target_loss_equals_the_literal_loop(seed: int, tags: list[int], side: int) -> None:
    scores = random_scores(seed, len(tags), side, side + 1)
    expected = literal_target_loss(scores.flatten(1).tolist(), tags)
    assert target_loss(scores, torch.tensor(tags)).item() == pytest.approx(expected)


def test_a_lead_has_a_say_in_which_places_of_a_lesion_image_count() -> None:
    """By score the last two of twenty places are the likeliest, by score and a strong lead the first two."""
    scores, tags = torch.linspace(-1, 1, 20).repeat(2, 1).view(2, 4, 5), torch.tensor([NORMAL, LESION])
    lead = torch.tensor([9.0] * 2 + [0.0] * 12 + [-9.0] * 6)
    (normal, lesion), (normal_led, led) = (
        gradient(target_loss(asked, tags, some), asked).flatten(1)
        for some in (None, lead)
        for asked in [scores.clone().requires_grad_()]
    )
    assert torch.equal(normal, normal_led)
    assert (lesion[18:] < 0).all() and (lesion[:6] > 0).all()
    assert (led[:2] < 0).all() and (led[14:] > 0).all() and (led[2:14] == 0).all()
    torch.testing.assert_close(target_loss(scores, tags, torch.zeros(20)), target_loss(scores, tags))


def test_where_all_scores_are_alike_the_lead_alone_decides() -> None:
    scores = torch.zeros(1, 2, 5, requires_grad=True)
    found = gradient(target_loss(scores, torch.tensor([LESION]), torch.arange(10.0)), scores).flatten()
    assert (found < 0).nonzero().tolist() == [[9]] and (found > 0).nonzero().flatten().tolist() == [0, 1, 2]


@given(SEEDS)
def test_the_spread_is_that_of_an_average_lesion_image(seed: int) -> None:
    scores, tags = random_scores(seed, 4, 3, 3).flatten(1), torch.tensor([LESION, NORMAL, LESION, UNKNOWN_TAG])
    expected = statistics.fmean(statistics.pstdev(scores[i].tolist()) for i in (0, 2))
    assert spread_in_lesion_images(scores, tags).item() == pytest.approx(expected, rel=1e-4)
    assert spread_in_lesion_images(scores, torch.full((4,), NORMAL)) == 0


def test_tags_push_the_ends_of_a_lesion_image_apart_and_all_of_a_normal_one_down() -> None:
    scores = torch.linspace(-1, 1, 20).repeat(3, 1).view(3, 4, 5).requires_grad_()
    loss = target_loss(scores, torch.tensor([NORMAL, LESION, UNKNOWN_TAG]))
    normal, lesion, untagged = gradient(loss, scores).flatten(1)
    assert (normal > 0).all() and (normal[-2:] > 1.5 * normal[:-2].max()).all()
    assert (lesion[:6] > 0).all() and (lesion[6:18] == 0).all() and (lesion[18:] < 0).all()
    assert (untagged == 0).all()


def test_half_precision_is_summed_in_single() -> None:
    scores, tags = random_scores(0, 2, 8, 8), torch.tensor([NORMAL, LESION])
    half = scores.bfloat16()
    assert target_loss(half, tags).dtype == source_loss(half, torch.zeros(2, 8, 8)).dtype == torch.float32
    torch.testing.assert_close(target_loss(half, tags), target_loss(half.float(), tags))
