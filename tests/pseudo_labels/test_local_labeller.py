"""Labels of images tagged lesion: every routine against its literal twin."""

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.pseudo_labels.local_labeller import (
    FALSE_ALARMS,
    LEAST_AREA,
    MOST_AREA,
    LocalLabeller,
    label_each_image,
    rank_of_surest,
    standardised,
)
from endotransfer.pseudo_labels.score_histogram import ScoreHistogram
from tests.random_scores import SEEDS, random_scores

BIN_WIDTH = 2 * ScoreHistogram.EDGE / ScoreHistogram.BINS

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
    scores = random_scores(seed, len(areas), side, side + 1)
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
def test_standardised_scores_have_mean_zero_and_deviation_one_in_every_image(seed: int) -> None:
    scores = random_scores(seed, 2, 3, 4)
    scores[1] = 1.5
    first, flat = standardised(scores)
    values = scores[0].flatten().tolist()
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    assert first.flatten().tolist() == pytest.approx([(value - mean) / deviation for value in values])
    assert (flat == 0).all()


# -- both scorers ---------------------------------------------------------------------------------------------------


def never_called(images: Tensor) -> Tensor:
    raise AssertionError("these tests give local scores themselves")


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

    The segmenter scores the first place a little higher; there the local score is `in_lesions` or `in_normals`, and
    0.5 everywhere else.
    """
    labeller = LocalLabeller(never_called, 0.0, segmenter_alone)
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
    own = random_scores(seed, 3, places)
    local = torch.randint(0, values, (3, places), generator=torch.Generator().manual_seed(seed)).double()
    expected = []
    for image in range(3):
        order = sorted(range(places), key=lambda place: -own[image, place].item())
        chosen = [local[image, place].item() for place in order[: max(1, int(0.05 * places))]]
        below = [sum(value < one for value in local[image].tolist()) for one in chosen]
        ties = [sum(value == one for value in local[image].tolist()) for one in chosen]
        expected.append(statistics.fmean(b + t / 2 for b, t in zip(below, ties, strict=True)) / places)
    assert rank_of_surest(own, local).tolist() == pytest.approx(expected)


def test_the_decision_of_an_earlier_pass_holds() -> None:
    assert observed([2.0], [-2.0], segmenter_alone=torch.tensor(0.0)).segmenter_alone == 0


@pytest.mark.parametrize("lesion, normal", [([1.0], []), ([], [1.0])])
def test_with_one_kind_of_tag_the_segmenter_labels_alone(lesion: list[float], normal: list[float]) -> None:
    assert observed(lesion, normal).segmenter_alone == 1


def test_an_image_is_as_likely_a_lesion_as_its_surest_twentieth() -> None:
    score = torch.zeros(2, 40)
    score[0, :2], score[1, 7] = torch.tensor([3.0, 1.0]), 5.0  # means of the two highest of 40: 2 and 2.5
    logits = torch.stack([torch.zeros_like(score), score], dim=1).view(2, 2, 5, 8)
    labeller = LocalLabeller(never_called, 0.0, None)
    labeller.observe(logits, torch.zeros(2, 5, 8), torch.tensor([LESION, NORMAL]))
    bins = [
        (counted.counts.argmax() * BIN_WIDTH - ScoreHistogram.EDGE).item()
        for counted in (labeller.lesions, labeller.normals)
    ]
    assert bins == [2.0, 2.5]


@pytest.mark.parametrize("alarms", [FALSE_ALARMS, 0.01])
def test_the_limit_is_what_normal_images_practically_never_reach(alarms: float) -> None:
    places = torch.arange(40000.0).view(4, 100, 100) / 640 - 31
    tags = torch.tensor([NORMAL] * 4 + [LESION, UNKNOWN_TAG])
    labeller = LocalLabeller(never_called, 0.0, None, false_alarms=alarms)
    local = torch.cat([places, torch.full((2, 100, 100), 31.9)])  # other images do not count
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
    logits, local = random_scores(seed, 3, classes, 4, 4), random_scores(seed + 1, 3, 4, 4)
    logits[:, 0] += random_scores(seed + 2, 3, 1, 1)  # areas of all sizes, none and all too
    labeller = LocalLabeller(never_called, share, None, portion=portion)
    labeller.segmenter_alone, labeller.limit = torch.tensor(segmenter_alone), torch.tensor(limit)
    by_threshold = torch.randint(0, classes, (3, 4, 4), generator=torch.Generator().manual_seed(seed)).to(torch.uint8)
    labels = labeller.label(logits, local, by_threshold)
    assert labels.dtype == torch.uint8
    if segmenter_alone == 1:  # then dataset thresholds hold
        assert torch.equal(labels, by_threshold)
        return
    for i in range(3):
        pixels = logits[i].flatten(1).T.tolist()
        expected = literal_label(pixels, local[i].flatten().tolist(), share, limit, portion)
        assert labels[i].flatten().tolist() == expected
