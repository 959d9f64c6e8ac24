"""The PraNet protocol against its published definitions, written out pixel by pixel and threshold by threshold."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from endotransfer.batch import IGNORE
from endotransfer.errors import DataError
from endotransfer.metrics import pranet, s_measure, threshold_curves, weighted_f
from tests.properties import examples

Levels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"
STEPS = st.sampled_from([0, 0, 1, 64, 127, 128, 200, 254, 255, 255])


@st.composite
def maps(draw: st.DrawFn, lesion: bool = False) -> tuple[Levels, Mask]:
    """(levels, truth): small maps, often flat, often saturated; with `lesion`, at least one lesion pixel."""
    shape = draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    levels = draw(arrays(np.uint8, shape, elements=STEPS))
    truth = draw(arrays(bool, shape))
    if lesion and not truth.any():
        truth[draw(st.integers(0, shape[0] - 1)), draw(st.integers(0, shape[1] - 1))] = True
    return levels, truth


def pixels(levels: Levels, truth: Mask) -> list[tuple[float, bool]]:
    """(value, is lesion) of each pixel, one by one."""
    return list(zip((levels / 255).ravel().tolist(), truth.ravel().tolist(), strict=True))


# -- Dice, IoU and E-measure over thresholds --------------------------------------------------------------------------


def literal_overlap(levels: Levels, truth: Mask, threshold: int) -> tuple[float, float]:
    """(Dice, IoU) of one binary map; a map without a hit scores 0."""
    guess = [(value >= threshold / 255, lesion) for value, lesion in pixels(levels, truth)]
    hits = sum(painted and lesion for painted, lesion in guess)
    either = sum(painted or lesion for painted, lesion in guess)
    return (2 * hits / (either + hits), hits / either) if hits else (0.0, 0.0)


def literal_e_measure(levels: Levels, truth: Mask, threshold: int) -> float:
    guess = [float(value >= threshold / 255) for value, _ in pixels(levels, truth)]
    real = [float(lesion) for _, lesion in pixels(levels, truth)]
    if sum(real) == 0:
        return sum(1 - painted for painted in guess) / len(guess)
    if sum(real) == len(real):
        return sum(guess) / len(guess)
    a, b = ([value - sum(values) / len(values) for value in values] for values in (real, guess))
    aligned = [2 * x * y / (x * x + y * y) for x, y in zip(a, b, strict=True)]
    return sum((1 + value) ** 2 / 4 for value in aligned) / len(aligned)


@examples(60)
@given(maps(), st.lists(st.integers(0, 255), min_size=3, max_size=6))
def test_curves_are_those_of_every_threshold_by_itself(case: tuple[Levels, Mask], thresholds: list[int]) -> None:
    counts = threshold_curves.threshold_counts(*case)
    dice, iou = threshold_curves.dice_curve(counts), threshold_curves.iou_curve(counts)
    enhanced = threshold_curves.e_measure_curve(counts)
    assert dice.shape == iou.shape == enhanced.shape == (256,)
    for threshold in {0, 1, 255, *thresholds}:
        assert (dice[threshold], iou[threshold]) == pytest.approx(literal_overlap(*case, threshold))
        assert enhanced[threshold] == pytest.approx(literal_e_measure(*case, threshold))


def test_a_perfect_map_has_an_e_measure_of_one_and_its_opposite_of_zero() -> None:
    truth = np.arange(64).reshape(8, 8) < 20
    right, wrong = ((mask * 255).astype(np.uint8) for mask in (truth, ~truth))
    assert threshold_curves.e_measure_curve(threshold_curves.threshold_counts(right, truth))[128] == 1
    assert threshold_curves.e_measure_curve(threshold_curves.threshold_counts(wrong, truth))[128] == 0


# -- S-measure --------------------------------------------------------------------------------------------------------


def literal_object(values: list[float]) -> float:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0
    return 2 * mean / (mean**2 + 1 + spread)


def literal_block(x: list[float], y: list[float]) -> float:
    """Structural similarity of two lists, divided through by n - 1 as in the reference."""
    if not x:
        return 0.0
    n, a, b = len(x), sum(x) / len(x), sum(y) / len(y)
    rest = max(n - 1, 1)
    xx, yy = (sum((v - m) ** 2 for v in values) / rest for values, m in ((x, a), (y, b)))
    xy = sum((v - a) * (w - b) for v, w in zip(x, y, strict=True)) / rest
    above, below = 4 * a * b * xy, (a * a + b * b) * (xx + yy)
    if abs(above) > 1e-12:
        return above / below
    return 1.0 if below < 1e-12 else 0.0


def literal_s_measure(levels: Levels, truth: Mask, alpha: float = 0.5) -> float:
    values, share = levels / 255, float(truth.mean())
    if share in (0, 1):
        return float(values.mean() if share else 1 - values.mean())
    lesion = literal_object([v for v, is_lesion in pixels(levels, truth) if is_lesion])
    rest = literal_object([1 - v for v, is_lesion in pixels(levels, truth) if not is_lesion])
    places = np.argwhere(truth) + 1  # counted from one
    row, column = (math.floor(sum(p[axis] for p in places.tolist()) / len(places) + 0.5) for axis in (0, 1))
    regions = 0.0
    for rows in (range(row), range(row, truth.shape[0])):
        for columns in (range(column), range(column, truth.shape[1])):
            block = [(r, c) for r in rows for c in columns]
            score = literal_block([float(values[p]) for p in block], [float(truth[p]) for p in block])
            regions += len(block) / truth.size * score
    return max(0.0, alpha * (share * lesion + (1 - share) * rest) + (1 - alpha) * regions)


@examples(80)
@given(maps(), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_s_measure_is_its_definition(case: tuple[Levels, Mask], alpha: float) -> None:
    assert s_measure.s_measure(*case, alpha) == pytest.approx(literal_s_measure(*case, alpha), abs=1e-9)


def test_a_perfect_map_has_an_s_measure_of_one() -> None:
    truth = np.arange(64).reshape(8, 8) % 8 < 3
    assert s_measure.s_measure((truth * 255).astype(np.uint8), truth) == pytest.approx(1)


def test_a_flat_block_is_flat_whatever_its_grey() -> None:
    """A mean of 77/255 is not exact in binary; the block must still count as one that does not vary."""
    flat = np.full((5, 7), 77, np.uint8)
    assert s_measure.similarity(flat, np.ones((5, 7), bool)) == 1
    assert s_measure.similarity(flat, np.zeros((5, 7), bool)) == 1


# -- weighted F -------------------------------------------------------------------------------------------------------


def literal_weighted_f(levels: Levels, truth: Mask, nearest: NDArray[np.int32], beta: float = 1.0) -> float:
    """Margolin et al.; `nearest` [2, H, W] says which of equally near lesion pixels stands in for a pixel."""
    height, width = truth.shape
    everywhere = [(r, c) for r in range(height) for c in range(width)]
    error = {p: abs(levels[p] / 255 - truth[p]) for p in everywhere}
    kernel = {(i, j): math.exp(-(i * i + j * j) / 50) for i in range(-3, 4) for j in range(-3, 4)}
    total = sum(kernel.values())
    missed = invented = 0.0
    for r, c in everywhere:
        if truth[r, c]:
            inside = {k: (r + k[0], c + k[1]) for k in kernel if 0 <= r + k[0] < height and 0 <= c + k[1] < width}
            around = sum(kernel[k] / total * error[tuple(nearest[:, p[0], p[1]])] for k, p in inside.items())
            missed += min(error[r, c], around)
        else:
            away = min(math.hypot(r - i, c - j) for i, j in np.argwhere(truth))
            invented += error[r, c] * (2 - math.exp(math.log(0.5) / 5 * away))
    lesion = int(truth.sum())
    recall, precision = 1 - missed / lesion, (lesion - missed) / (lesion - missed + invented + 1e-15)
    return (1 + beta**2) * recall * precision / (recall + beta**2 * precision + 1e-15)


@settings(max_examples=40, deadline=None)
@given(maps(lesion=True), st.sampled_from([1.0, 0.5]))
def test_the_weighted_f_is_its_definition(case: tuple[Levels, Mask], beta: float) -> None:
    _, nearest = distance_transform_edt(~case[1], return_indices=True)
    assert weighted_f.weighted_f(*case, beta) == pytest.approx(literal_weighted_f(*case, nearest, beta), abs=1e-6)


def test_a_false_alarm_costs_more_the_further_it_lies_from_the_lesion() -> None:
    truth = np.zeros((24, 24), bool)
    truth[2:6, 2:6] = True
    near, far = np.where(truth, 255, 0).astype(np.uint8), np.where(truth, 255, 0).astype(np.uint8)
    near[2:6, 7:9] = far[20:22, 18:22] = 255
    assert weighted_f.weighted_f(far, truth) < weighted_f.weighted_f(near, truth) < 1


def test_the_weighted_f_is_one_for_the_truth_and_zero_for_nothing() -> None:
    truth = np.arange(64).reshape(8, 8) < 20
    assert weighted_f.weighted_f((truth * 255).astype(np.uint8), truth) == 1
    inner = np.zeros((12, 12), bool)
    inner[4:8, 4:8] = True
    assert weighted_f.weighted_f(np.zeros((12, 12), np.uint8), inner) == pytest.approx(0, abs=1e-9)
    assert weighted_f.weighted_f(np.where(inner, 0, 255).astype(np.uint8), inner) == pytest.approx(0, abs=1e-9)
    assert weighted_f.weighted_f(np.full((12, 12), 255, np.uint8), np.zeros((12, 12), bool)) == 0


def test_at_the_images_edge_the_definition_forgives_misses() -> None:
    """The published definition smooths errors with zeros beyond the edge; kept, since comparisons are made with it."""
    assert weighted_f.weighted_f(np.zeros((8, 8), np.uint8), np.ones((8, 8), bool)) > 0.5


# -- the protocol as a whole ------------------------------------------------------------------------------------------


def test_a_map_is_stretched_to_its_own_extremes() -> None:
    levels = pranet.stretched(np.array([[0.25, 0.375], [0.5, 0.25]]))
    assert levels.tolist() == [[0, 128], [255, 0]]
    assert pranet.stretched(np.full((2, 2), 0.9)).tolist() == [[0, 0], [0, 0]]


def test_a_map_that_is_not_finite_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="of set/7 is not finite"):
        pranet.stretched(np.array([[0.1, np.nan]]), "set/7")


def cases(count: int = 5, seed: int = 0) -> Iterator[tuple[NDArray[np.float64], NDArray[np.uint8]]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        truth = np.zeros((12, 10), np.uint8)
        truth[2 : rng.integers(4, 10), 3 : rng.integers(5, 9)] = 1
        yield np.clip(0.4 * truth + rng.random((12, 10)) * 0.5, 0, 1), truth


def test_figures_are_means_over_thresholds_then_images_and_the_best_single_threshold() -> None:
    scores = pranet.PraNetScores()
    dice, iou, e_measure, others = [], [], [], []
    for probability, truth in cases():
        scores.update(probability, truth)
        levels, lesion = pranet.stretched(probability), truth == 1
        overlap = [literal_overlap(levels, lesion, threshold) for threshold in range(256)]
        dice.append([one for one, _ in overlap])
        iou.append([one for _, one in overlap])
        e_measure.append([literal_e_measure(levels, lesion, threshold) for threshold in range(256)])
        _, nearest = distance_transform_edt(~lesion, return_indices=True)
        mistakes = [abs(value - is_lesion) for value, is_lesion in pixels(levels, lesion)]
        structure = literal_s_measure(levels, lesion)
        others.append((structure, literal_weighted_f(levels, lesion, nearest), sum(mistakes) / len(mistakes)))
    summary = scores.summary()
    expected = {
        "mean_dice": np.mean(dice), "mean_iou": np.mean(iou), "max_dice": max(np.mean(dice, 0)),
        "mean_e_measure": np.mean(e_measure), "max_e_measure": max(np.mean(e_measure, 0)),
        **dict(zip(("s_measure", "weighted_f", "mae"), np.mean(others, 0), strict=True)),
    }  # fmt: skip
    assert {name: summary[name] for name in expected} == pytest.approx({k: 100 * v for k, v in expected.items()})
    assert summary["images"] == 5
    best, mean = summary["max_dice"], summary["mean_dice"]
    assert isinstance(best, float) and isinstance(mean, float) and best > mean  # so the two cannot have been confused


def test_images_without_a_lesion_are_left_out_and_counted() -> None:
    alone, beside = pranet.PraNetScores(), pranet.PraNetScores()
    for probability, truth in cases():
        alone.update(probability, truth)
        beside.update(probability, truth)
        beside.update(probability, np.zeros_like(truth))
    assert beside.summary() == alone.summary() | {"without_lesion": 5}


def test_an_unlabelled_pixel_is_background_in_both() -> None:
    scores = pranet.PraNetScores()
    truth = np.zeros((8, 8), np.uint8)
    truth[:4], truth[6:] = 1, IGNORE
    scores.update(np.where(truth == 0, 0.0, 1.0), truth)  # paints the unlabelled rows as well
    summary = scores.summary()
    assert summary["mae"] == 0 and summary["max_dice"] == summary["weighted_f"] == 100


def test_every_class_but_the_first_is_lesion() -> None:
    two, three = pranet.PraNetScores(), pranet.PraNetScores()
    for probability, truth in cases():
        two.update(probability, truth)
        three.update(probability, truth * np.where(np.arange(10) % 2, 2, 1).astype(np.uint8))
    assert two.summary() == three.summary()


def test_without_images_there_are_no_figures() -> None:
    summary = pranet.PraNetScores().summary()
    assert summary["images"] == 0
    assert [summary[name] for name in ("mean_dice", "s_measure", "mae")] == [None] * 3
    json.dumps(summary)


def test_every_figure_is_documented() -> None:
    described = re.search(r"^\| `pranet` \| only.*$", FORMATS.read_text(encoding="utf-8"), re.MULTILINE)
    assert described
    assert [key for key in pranet.PraNetScores().summary() if f"`{key}`" not in described[0]] == []
