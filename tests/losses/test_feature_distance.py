"""The distance of features on things against a twin that walks over cells and pixels."""

import math

import pytest
import torch

from endotransfer.batch import IGNORE
from endotransfer.losses.feature_distance import feature_distance, thing_cells
from tests.gradients import gradient


def literal_things(mask: list[list[int]], side: int, things: tuple[int, ...]) -> list[list[bool]]:
    """One image: for each cell of side x side pixels whether one thing has three quarters of them."""
    cells = []
    for top in range(0, len(mask), side):
        row = []
        for left in range(0, len(mask[0]), side):
            inside = [mask[y][x] for y in range(top, top + side) for x in range(left, left + side)]
            row.append(any(inside.count(thing) >= 0.75 * side**2 for thing in things))
        cells.append(row)
    return cells


@pytest.mark.parametrize("things", [(1,), (1, 2, 3), (2,)])
def test_things_are_the_literal_ones(things: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    coarse = torch.randint(0, 5, (4, 12, 16), generator=generator)
    masks = coarse.where(coarse < 4, IGNORE).repeat_interleave(2, 1).repeat_interleave(3, 2)  # in no step with cells
    masks[:, :12] = masks[:, :1, :1]
    found = thing_cells(masks, torch.zeros(4, 4, 6, 12), things)
    assert found.tolist() == [literal_things(mask, 4, things) for mask in masks.tolist()]
    assert found.any() and not found.all()


def test_the_distance_is_the_mean_over_cells_of_the_norm_over_channels() -> None:
    generator = torch.Generator().manual_seed(1)
    features, fixed = torch.randn(2, 2, 5, 3, 4, generator=generator, dtype=torch.float64)
    cells = torch.rand(2, 3, 4, generator=generator) < 0.4
    expected = [
        math.sqrt(sum(float(features[b, c, y, x] - fixed[b, c, y, x]) ** 2 for c in range(5)))
        for b, y, x in cells.nonzero().tolist()
    ]
    assert len(expected) > 3
    assert feature_distance(features, fixed, cells).item() == pytest.approx(sum(expected) / len(expected))


def test_without_cells_or_without_distance_it_is_0_and_so_is_its_gradient() -> None:
    fixed = torch.randn(1, 3, 2, 2)
    for features, cells in ((fixed + 1, torch.zeros(1, 2, 2)), (fixed, torch.ones(1, 2, 2))):
        moving = features.clone().requires_grad_()
        loss = feature_distance(moving, fixed, cells.bool())
        assert loss.item() == 0
        assert (gradient(loss, moving) == 0).all()
