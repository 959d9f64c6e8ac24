"""Where the lesion of a tagged image is: every routine against its literal twin."""

import math
import statistics

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.lesion_odds import lesion_score
from endotransfer.pseudo_labels.local_labeller import (
    FALSE_ALARMS,
    LEAST_AREA,
    MOST_AREA,
    LocalLabeller,
    label_each_image,
    rank_of_surest,
    standardised,
)
from endotransfer.pseudo_labels.local_layer import REST, TOP, source_loss, target_loss
from endotransfer.pseudo_labels.score_histogram import ScoreHistogram, auroc
from tests.gradients import gradient

SEEDS = st.integers(0, 2**31)
WIDTH = 2 * ScoreHistogram.EDGE / ScoreHistogram.BINS  # of a bin
SHARES = st.sampled_from([0.0, 2**-10, 0.125, 0.25, 0.5, 1.0])  # exact in any precision


def random(seed: int, *shape: int, scale: float = 3.0) -> Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + max(x, 0)


def histogram(scores: list[float]) -> ScoreHistogram:
    counted = ScoreHistogram()
    counted.add(torch.tensor(scores, dtype=torch.float64), torch.ones(len(scores), dtype=torch.bool))
    return counted


# -- losses -----------------------------------------------------------------------------------------------------------


@given(SEEDS, st.integers(2, 4))
def test_the_score_is_the_log_odds_of_all_lesions_together(seed: int, classes: int) -> None:
    logits = random(seed, 2, classes, 3, 2)
    no_lesion = logits.softmax(1)[:, 0]
    torch.testing.assert_close(lesion_score(logits), ((1 - no_lesion) / no_lesion).log())
    torch.testing.assert_close(lesion_score(logits + 7), lesion_score(logits))


@given(SEEDS)
def test_source_loss_is_the_cross_entropy_of_known_pixels(seed: int) -> None:
    scores = random(seed, 2, 3, 4)
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
    scores = random(seed, len(tags), side, side + 1)
    expected = literal_target_loss(scores.flatten(1).tolist(), tags)
    assert target_loss(scores, torch.tensor(tags)).item() == pytest.approx(expected)


def test_tags_push_the_ends_of_a_lesion_image_apart_and_all_of_a_normal_one_down() -> None:
    scores = torch.linspace(-1, 1, 20).repeat(3, 1).view(3, 4, 5).requires_grad_()
    loss = target_loss(scores, torch.tensor([NORMAL, LESION, UNKNOWN_TAG]))
    normal, lesion, untagged = gradient(loss, scores).flatten(1)
    assert (normal > 0).all() and (normal[-2:] > 1.5 * normal[:-2].max()).all()
    assert (lesion[:6] > 0).all() and (lesion[6:18] == 0).all() and (lesion[18:] < 0).all()
    assert (untagged == 0).all()


def test_half_precision_is_summed_in_single() -> None:
    scores, tags = random(0, 2, 8, 8), torch.tensor([NORMAL, LESION])
    half = scores.bfloat16()
    assert target_loss(half, tags).dtype == source_loss(half, torch.zeros(2, 8, 8)).dtype == torch.float32
    torch.testing.assert_close(target_loss(half, tags), target_loss(half.float(), tags))


# -- labels -----------------------------------------------------------------------------------------------------------


def literal_labels(scores: list[float], area: float, portion: float) -> list[int]:
    """A plain ranking of one image's scores; no two are the same."""
    ranked = sorted(range(len(scores)), key=lambda place: scores[place])
    labels = [IGNORE] * len(scores)
    for place in ranked[: min(round(portion * (1 - area) * len(scores)), len(scores) - 1)]:
        labels[place] = NORMAL
    for place in ranked[len(scores) - min(max(1, round(portion * area * len(scores))), len(scores) - 1) :]:
        labels[place] = LESION
    return labels


@given(SEEDS, st.lists(st.floats(0, 1), min_size=1, max_size=3), st.floats(0, 1), st.integers(1, 6))
def test_each_image_is_split_as_a_plain_ranking_splits_it(
    seed: int, areas: list[float], portion: float, side: int
) -> None:
    scores = random(seed, len(areas), side, side + 1)
    labels = label_each_image(scores, torch.tensor(areas, dtype=torch.float64), portion)
    assert labels.dtype == torch.uint8 and labels.shape == scores.shape
    for i, area in enumerate(areas):
        assert labels[i].flatten().tolist() == literal_labels(scores[i].flatten().tolist(), area, portion)


def test_an_image_without_contrast_gets_no_label() -> None:
    assert (label_each_image(torch.zeros(1, 8, 8), torch.tensor([0.1]), 0.5) == IGNORE).all()


def test_both_classes_are_labelled_and_the_doubtful_middle_is_left_open() -> None:
    scores = torch.arange(100.0).view(1, 10, 10)
    labels = label_each_image(scores, torch.tensor([0.2]), 0.5).flatten()
    assert (labels[:40] == NORMAL).all() and (labels[40:90] == IGNORE).all() and (labels[90:] == LESION).all()


@given(SEEDS)
def test_standardised_scores_have_mean_nought_and_deviation_one_in_every_image(seed: int) -> None:
    scores = random(seed, 2, 3, 4)
    scores[1] = 1.5
    first, flat = standardised(scores)
    values = scores[0].flatten().tolist()
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    assert first.flatten().tolist() == pytest.approx([(value - mean) / deviation for value in values])
    assert (flat == 0).all()


# -- the histogram ----------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-40, 40, width=32), max_size=60), SHARES)
def test_the_score_that_a_share_exceeds_is_that_of_sorting_to_a_bin(scores: list[float], share: float) -> None:
    limit = histogram(scores).exceeded_by(share).item()
    rank = math.floor(share * len(scores))
    if rank == len(scores):  # all of them may exceed it, or there is none
        assert limit == -ScoreHistogram.EDGE
        return
    exact = sorted((min(max(score, -ScoreHistogram.EDGE), ScoreHistogram.EDGE) for score in scores), reverse=True)[rank]
    rounding = 4e-6  # of a score + EDGE in single precision
    assert exact - rounding <= limit <= exact + WIDTH + rounding
    assert sum(score > limit for score in scores if score < ScoreHistogram.EDGE) <= share * len(scores)


def test_only_chosen_images_are_counted_and_what_lies_beyond_the_edges_at_them() -> None:
    counted = ScoreHistogram()
    counted.add(torch.tensor([[-500.0, 0.0], [1.0, 1.0], [0.0, 500.0]]), torch.tensor([True, False, True]))
    places = {0: 1, ScoreHistogram.BINS // 2: 2, ScoreHistogram.BINS - 1: 1}
    assert {int(i): int(counted.counts[i]) for i in counted.counts.nonzero()} == places
    assert counted.exceeded_by(0.0) == ScoreHistogram.EDGE


GRID = st.lists(st.integers(-2048, 2047).map(lambda bin: bin / 64), min_size=1, max_size=12)


@given(GRID, GRID)
def test_auroc_is_that_of_all_pairs(lesion: list[float], normal: list[float]) -> None:
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in lesion for b in normal]
    assert auroc(histogram(lesion), histogram(normal)).item() == pytest.approx(statistics.fmean(wins))


@pytest.mark.parametrize("lesion, normal", [([], [1.0]), ([1.0], []), ([], [])])
def test_auroc_of_one_kind_alone_is_unknown(lesion: list[float], normal: list[float]) -> None:
    assert auroc(histogram(lesion), histogram(normal)).isnan()


# -- both scorers ---------------------------------------------------------------------------------------------------


def nobody(images: Tensor) -> Tensor:
    raise AssertionError("nobody looks here")


def flat_logits(scores: list[float], side: int = 4) -> Tensor:
    """Logits [B, 2, side, side] of images whose every place has the same score."""
    score = torch.tensor(scores).view(-1, 1, 1).expand(-1, side, side)
    return torch.stack([torch.zeros_like(score), score], dim=1)


def observed(
    lesion: list[float],
    normal: list[float],
    segmenter_alone: Tensor | None = None,
    in_lesions: float = 1.0,
    in_normals: float = 0.0,
) -> LocalLabeller:
    """A labeller that has observed images with such scores, in two batches.

    The segmenter is a little surer of the first place; of that the local layer says `in_lesions` or `in_normals`, and
    0.5 of all others.
    """
    labeller = LocalLabeller(nobody, 0.0, segmenter_alone)
    for scores, tag, first in ((lesion, LESION, in_lesions), (normal, NORMAL, in_normals)):
        logits, local = flat_logits(scores), torch.full((len(scores), 4, 4), 0.5)
        logits[:, 1, 0, 0] += 1e-3
        local[:, 0, 0] = first
        labeller.observe(logits, local, torch.full((len(scores),), tag))
    labeller.settle()
    return labeller


@pytest.mark.parametrize("below, alone", [(0, False), (20, False), (27, False), (28, True), (31, True), (40, True)])
def test_the_segmenter_labels_alone_where_it_tells_the_tags_apart(below: int, alone: bool) -> None:
    """`below` of 40 normal images score lower than the lesion: an AUROC of below / 40, to be 0.7 or more."""
    labeller = observed([0.0], [-1.0] * below + [1.0] * (40 - below))
    assert labeller.segmenter_alone.item() == alone


@pytest.mark.parametrize(
    "in_lesions, in_normals, alone",
    [(1.0, 0.0, True), (1.0, 0.5, True), (0.5, 0.0, True), (0.5, 0.5, False), (1.0, 1.0, False), (0.0, 1.0, False)],
)
def test_it_labels_alone_only_where_the_local_layer_points_at_the_same_places(
    in_lesions: float, in_normals: float, alone: bool
) -> None:
    """More so in lesion images than in normal ones: both may prefer the middle of every image."""
    labeller = observed([1.0, 2.0], [-1.0, -2.0, -3.0], None, in_lesions, in_normals)
    assert labeller.tag_auroc == 1
    assert labeller.localisation_gap.item() == pytest.approx(
        (in_lesions - in_normals) * 15 / 16
    )  # 16 places, ties in the middle
    assert labeller.segmenter_alone.item() == alone


@given(SEEDS, st.integers(1, 45), st.integers(2, 9))
def test_the_rank_of_the_surest_places_literally(seed: int, places: int, values: int) -> None:
    own = random(seed, 3, places)
    local = torch.randint(0, values, (3, places), generator=torch.Generator().manual_seed(seed)).double()
    expected = []
    for image in range(3):
        order = sorted(range(places), key=lambda place: -own[image, place].item())
        chosen = [local[image, place].item() for place in order[: max(1, int(0.05 * places))]]
        below = [sum(value < one for value in local[image].tolist()) for one in chosen]
        ties = [sum(value == one for value in local[image].tolist()) for one in chosen]
        expected.append(statistics.fmean(b + t / 2 for b, t in zip(below, ties, strict=True)) / places)
    assert rank_of_surest(own, local).tolist() == pytest.approx(expected)


def test_what_an_earlier_pass_found_stands() -> None:
    assert observed([2.0], [-2.0], segmenter_alone=torch.tensor(0.0)).segmenter_alone == 0


@pytest.mark.parametrize("lesion, normal", [([1.0], []), ([], [1.0])])
def test_with_one_kind_of_tag_the_segmenter_alone_labels_alone(lesion: list[float], normal: list[float]) -> None:
    assert observed(lesion, normal).segmenter_alone == 1


def test_an_image_is_as_likely_a_lesion_as_its_surest_twentieth() -> None:
    score = torch.zeros(2, 40)
    score[0, :2], score[1, 7] = torch.tensor([3.0, 1.0]), 5.0  # means of the two highest of 40: 2 and 2.5
    logits = torch.stack([torch.zeros_like(score), score], dim=1).view(2, 2, 5, 8)
    labeller = LocalLabeller(nobody, 0.0, None)
    labeller.observe(logits, torch.zeros(2, 5, 8), torch.tensor([LESION, NORMAL]))
    bins = [
        (counted.counts.argmax() * WIDTH - ScoreHistogram.EDGE).item()
        for counted in (labeller.lesions, labeller.normals)
    ]
    assert bins == [2.0, 2.5]


@pytest.mark.parametrize("alarms", [FALSE_ALARMS, 0.01])
def test_the_limit_is_what_normal_images_practically_never_reach(alarms: float) -> None:
    places = torch.arange(40000.0).view(4, 100, 100) / 640 - 31
    tags = torch.tensor([NORMAL] * 4 + [LESION, UNKNOWN_TAG])
    labeller = LocalLabeller(nobody, 0.0, None, false_alarms=alarms)
    local = torch.cat([places, torch.full((2, 100, 100), 31.9)])  # what others say does not count
    labeller.observe(torch.zeros(6, 2, 100, 100), local, tags)
    labeller.settle()
    assert alarms / 2 < (places > labeller.limit).double().mean() <= alarms


def literal_label(
    logits: list[list[float]], local: list[float], share: float, limit: float, portion: float
) -> list[int]:
    """Labels of one image: pixels -> logits, pixels -> local scores."""

    def area(lesion: list[bool]) -> float:
        return min(max(sum(lesion) / len(lesion), LEAST_AREA), MOST_AREA)

    def scaled(scores: list[float]) -> list[float]:
        deviation = max(statistics.pstdev(scores), 1e-3)
        return [(score - statistics.fmean(scores)) / deviation for score in scores]

    own = [math.log(sum(map(math.exp, pixel[1:]))) - pixel[0] for pixel in logits]
    size = share * area([score > 0 for score in own]) + (1 - share) * area([score > limit for score in local])
    score = [share * a + (1 - share) * b for a, b in zip(scaled(own), scaled(local), strict=True)]
    labels = literal_labels(score, size, portion)
    kinds = [pixel.index(max(pixel[1:]), 1) for pixel in logits]
    return [kind if label == LESION else label for kind, label in zip(kinds, labels, strict=True)]


# Sixteen pixels and round shares: no area falls on the edge between two whole numbers of pixels.
@given(
    SEEDS,
    st.sampled_from([(0.0, 0.0), (0.0, 0.25), (0.0, 0.5), (1.0, 0.0), (1.0, 0.5), (0.0, 1.0)]),
    st.sampled_from([0.25, 0.5, 1.0]),
    st.sampled_from([-9.0, -1.0, 0.0, 2.0, 9.0]),
    st.integers(2, 4),
)
def test_labels_blend_area_and_score_of_both_scorers_literally(
    seed: int, decision_and_share: tuple[float, float], portion: float, limit: float, classes: int
) -> None:
    segmenter_alone, share = decision_and_share
    logits, local = random(seed, 3, classes, 4, 4), random(seed + 1, 3, 4, 4)
    logits[:, 0] += random(seed + 2, 3, 1, 1)  # areas of all sizes, none and all too
    labeller = LocalLabeller(nobody, share, None, portion=portion)
    labeller.segmenter_alone, labeller.limit = torch.tensor(segmenter_alone), torch.tensor(limit)
    by_set = torch.randint(0, classes, (3, 4, 4), generator=torch.Generator().manual_seed(seed)).to(torch.uint8)
    labels = labeller.label(logits, local, by_set)
    assert labels.dtype == torch.uint8
    if segmenter_alone == 1:  # then the thresholds of the set hold
        assert torch.equal(labels, by_set)
        return
    for i in range(3):
        pixels = logits[i].flatten(1).T.tolist()
        expected = literal_label(pixels, local[i].flatten().tolist(), share, limit, portion)
        assert labels[i].flatten().tolist() == expected
