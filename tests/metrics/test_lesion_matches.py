"""Lesions one by one, on masks drawn by hand and against a search that walks from pixel to pixel."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from endotransfer.metrics import LesionMatches, lesion_matches
from tests.properties import examples

Mask = NDArray[np.bool_]


def drawn(*rows: str) -> Mask:
    return np.array([[letter == "#" for letter in row] for row in rows])


def boxes(*slices: tuple[slice, slice], size: int = 32) -> Mask:
    mask = np.zeros((size, size), dtype=bool)
    for rows, columns in slices:
        mask[rows, columns] = True
    return mask


LEFT, RIGHT = np.s_[4:14, 4:14], np.s_[4:14, 20:30]
BOTTOM = np.s_[24:30, 10:20]


def components(mask: Mask) -> list[set[tuple[int, int]]]:
    """Sets of pixels joined through any of 8 neighbours, found by walking."""
    left = {(int(y), int(x)) for y, x in np.argwhere(mask)}
    found = []
    while left:
        todo, component = [left.pop()], set()
        while todo:
            y, x = todo.pop()
            component.add((y, x))
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left
            left -= near
            todo.extend(near)
        found.append(component)
    return found


def literal_matches(
    prediction: Mask, truth: Mask, ignored: Mask, min_pixels: int, min_cover: float
) -> tuple[int, int, int]:
    skip = {(int(y), int(x)) for y, x in np.argwhere(ignored)}
    predicted, true = [[c - skip for c in components(m)] for m in (prediction, truth & ~ignored)]
    painted, real = set().union(*predicted), set().union(*true)
    lesions = [c for c in true if len(c) >= min_pixels]
    found = [c for c in lesions if c & painted and Fraction(len(c & painted), len(c)) >= Fraction(str(min_cover))]
    invented = [c for c in predicted if len(c) >= min_pixels and not c & real]
    return len(found), len(lesions), len(invented)


@examples(400)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(lambda shape: arrays(bool, (3, *shape))),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]),
)
def test_matches_equal_a_walk_over_pixels(masks: Mask, min_pixels: int, min_cover: float) -> None:
    prediction, truth, ignored = masks
    expected = literal_matches(prediction, truth, ignored, min_pixels, min_cover)
    assert lesion_matches(prediction, truth, ignored, min_pixels, min_cover) == expected


def test_one_found_one_missed_one_invented() -> None:
    counts = lesion_matches(boxes(LEFT, BOTTOM), boxes(LEFT, RIGHT))
    assert counts == LesionMatches(found=1, lesions=2, false_positives=1)


@pytest.mark.parametrize(("rows", "found"), [(1, 1), (0, 0)])
def test_a_tenth_of_a_lesion_is_enough(rows: int, found: int) -> None:
    truth = boxes(LEFT)  # 10 x 10 pixels: one row is a tenth
    prediction = boxes(np.s_[4 : 4 + rows, 4:14])
    prediction[13, 4:13] |= rows == 0  # nine pixels are not enough
    assert lesion_matches(prediction, truth).found == found


def test_diagonal_neighbours_belong_together() -> None:
    staircase = drawn("#...", ".#..", "..#.", "...#")
    assert lesion_matches(staircase, staircase, min_pixels=4) == (1, 1, 0)


def test_specks_are_neither_lesions_nor_false_positives() -> None:
    speck = boxes(np.s_[0:3, 0:5])  # 15 pixels
    assert lesion_matches(speck, np.zeros_like(speck)) == (0, 0, 0)
    assert lesion_matches(np.zeros_like(speck), speck) == (0, 0, 0)
    speck[3, 0] = True
    assert lesion_matches(speck, np.zeros_like(speck)) == (0, 0, 1)
    assert lesion_matches(np.zeros_like(speck), speck) == (0, 1, 0)


def test_a_component_that_reaches_a_lesion_is_no_false_positive() -> None:
    assert lesion_matches(boxes(np.s_[4:14, 13:30]), boxes(LEFT)) == (1, 1, 0)


def test_nothing_is_invented_on_ignored_pixels() -> None:
    ignored = boxes(np.s_[:, :16])
    assert lesion_matches(boxes(LEFT), boxes(), ignored) == (0, 0, 0)
    assert lesion_matches(boxes(LEFT, RIGHT), boxes(), ignored) == (0, 0, 1)


def test_a_component_split_by_ignored_pixels_stays_one() -> None:
    truth, prediction = boxes(LEFT), boxes(np.s_[4:14, 4:30])
    assert lesion_matches(prediction, truth, ignored=boxes(np.s_[:, 14:18])) == (1, 1, 0)


def test_empty_masks_count_nothing() -> None:
    assert lesion_matches(boxes(), boxes()) == (0, 0, 0)
