"""Counted scores against sorting and pairing them one by one."""

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.pseudo_labels.score_histogram import ScoreHistogram, auroc

BIN_WIDTH = 2 * ScoreHistogram.EDGE / ScoreHistogram.BINS
SHARES = st.sampled_from([0.0, 2**-10, 0.125, 0.25, 0.5, 1.0])  # exact in any precision
ON_BIN_EDGES = st.lists(st.integers(-2048, 2047).map(lambda number: number / 64), min_size=1, max_size=12)


def histogram(scores: list[float]) -> ScoreHistogram:
    counted = ScoreHistogram()
    counted.add(torch.tensor(scores, dtype=torch.float64), torch.ones(len(scores), dtype=torch.bool))
    return counted


@given(st.lists(st.floats(-40, 40, width=32), max_size=60), SHARES)
def test_the_score_that_a_share_exceeds_is_that_of_sorting_to_a_bin(scores: list[float], share: float) -> None:
    limit = histogram(scores).exceeded_by(share).item()
    rank = math.floor(share * len(scores))
    if rank == len(scores):  # all of them may exceed it, or there is none
        assert limit == -ScoreHistogram.EDGE
        return
    exact = sorted((min(max(score, -ScoreHistogram.EDGE), ScoreHistogram.EDGE) for score in scores), reverse=True)[rank]
    rounding = 4e-6  # of a score + EDGE in single precision
    assert exact - rounding <= limit <= exact + BIN_WIDTH + rounding
    assert sum(score > limit for score in scores if score < ScoreHistogram.EDGE) <= share * len(scores)


def test_only_chosen_images_are_counted_and_what_lies_beyond_the_edges_at_them() -> None:
    counted = ScoreHistogram()
    counted.add(torch.tensor([[-500.0, 0.0], [1.0, 1.0], [0.0, 500.0]]), torch.tensor([True, False, True]))
    places = {0: 1, ScoreHistogram.BINS // 2: 2, ScoreHistogram.BINS - 1: 1}
    assert {int(i): int(counted.counts[i]) for i in counted.counts.nonzero()} == places
    assert counted.exceeded_by(0.0) == ScoreHistogram.EDGE


@given(ON_BIN_EDGES, ON_BIN_EDGES)
def test_auroc_is_that_of_all_pairs(lesion: list[float], normal: list[float]) -> None:
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in lesion for b in normal]
    assert auroc(histogram(lesion), histogram(normal)).item() == pytest.approx(statistics.fmean(wins))


@pytest.mark.parametrize("lesion, normal", [([], [1.0]), ([1.0], []), ([], [])])
def test_auroc_of_one_kind_alone_is_unknown(lesion: list[float], normal: list[float]) -> None:
    assert auroc(histogram(lesion), histogram(normal)).isnan()
