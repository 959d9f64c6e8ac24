"""Border targets against their definition, pixel by pixel."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.losses.borders import border_targets
from tests.properties import examples

Map = list[list[int]]


def around(labels: Map, row: int, column: int, reach: int) -> list[tuple[int, int]]:
    """Pixels of the map in the square around one."""
    height, width = len(labels), len(labels[0])
    rows = range(max(0, row - reach), min(height, row + reach + 1))
    return [(i, j) for i in rows for j in range(max(0, column - reach), min(width, column + reach + 1))]


def is_edge(labels: Map, row: int, column: int) -> bool:
    own = labels[row][column]
    others = {labels[i][j] for i, j in around(labels, row, column, 1)} - {own, IGNORE}
    return own != IGNORE and bool(others)


def literal(labels: Map, width: int) -> Map:
    found = []
    for row, line in enumerate(labels):
        near = [any(is_edge(labels, i, j) for i, j in around(labels, row, c, width // 2)) for c in range(len(line))]
        found.append([IGNORE if own == IGNORE else int(border) for own, border in zip(line, near, strict=True)])
    return found


@st.composite
def label_maps(draw: st.DrawFn) -> Tensor:
    height, width = draw(st.integers(1, 10)), draw(st.integers(1, 10))
    # Few changes: where every pixel is an edge, nothing can be told.
    values = [0] * 12 + [1, 4, IGNORE]
    pixels = draw(st.lists(st.sampled_from(values), min_size=height * width, max_size=height * width))
    return torch.tensor(pixels).view(height, width)


@given(label_maps(), st.sampled_from([1, 3, 7]))
@examples(200)
def test_targets_are_the_literal_ones(labels: Tensor, width: int) -> None:
    found = border_targets(labels[None], width)
    assert found.dtype == torch.int64
    assert found[0].tolist() == literal(labels.tolist(), width)


def test_a_straight_border_is_a_band_on_both_sides() -> None:
    labels = torch.zeros(2, 4, 20, dtype=torch.int64)
    labels[1, :, 10:] = 1
    found = border_targets(labels)
    assert not found[0].any()
    assert found[1, 2].tolist() == [0] * 6 + [1] * 8 + [0] * 6  # three pixels beyond either edge


def test_the_end_of_what_is_labelled_is_no_border() -> None:
    labels = torch.zeros(1, 4, 20, dtype=torch.int64)
    labels[:, :, 12:] = IGNORE
    labels[:, :, 16:] = 1
    found = border_targets(labels)[0, 0].tolist()
    assert found == [0] * 12 + [IGNORE] * 4 + [0] * 4


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_any_integer_labels_will_do(dtype: torch.dtype) -> None:
    labels = torch.tensor([[0, 0, 7, 7, 255, 255]])[None]
    assert border_targets(labels.to(dtype), 1).tolist() == [[[0, 1, 1, 0, 255, 255]]]
