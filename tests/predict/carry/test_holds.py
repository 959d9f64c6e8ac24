"""The rules and the composition of flows against their literal, pixel-by-pixel twins."""

import numpy as np
import pytest

from endotransfer.predict.carry import holds
from endotransfer.predict.carry.holds import FrameView, Rules
from endotransfer.predict.carry.optical_flow import OUTSIDE, fetch, flow_between, follow, grid

RULES = Rules()


def bilinear(values: np.ndarray, row: float, column: float) -> float:
    """One value between four pixels; beyond the edge the nearest."""
    height, width = values.shape
    row, column = min(max(row, 0), height - 1), min(max(column, 0), width - 1)
    top, left = int(row), int(column)
    below, right = min(top + 1, height - 1), min(left + 1, width - 1)
    a, b = row - top, column - left
    upper = values[top, left] * (1 - b) + values[top, right] * b
    lower = values[below, left] * (1 - b) + values[below, right] * b
    return float(upper * (1 - a) + lower * a)


def test_flows_are_composed_pixel_by_pixel() -> None:
    draw = np.random.default_rng(0)
    height, width = 9, 13
    places = grid(height, width) + draw.normal(0, 2, (2, height, width)).astype(np.float32)
    flow = draw.normal(0, 1.5, (2, height, width)).astype(np.float32)
    found = follow(places, flow)
    for y in range(height):
        for x in range(width):
            row, column = y + flow[0, y, x], x + flow[1, y, x]
            inside = -0.5 <= row <= height - 0.5 and -0.5 <= column <= width - 0.5
            for axis in range(2):
                slow = bilinear(places[axis], row, column) if inside else OUTSIDE
                assert found[axis, y, x] == pytest.approx(slow, abs=1e-4)


def test_a_mask_is_fetched_pixel_by_pixel() -> None:
    draw = np.random.default_rng(1)
    mask = draw.integers(0, 4, (10, 14)).astype(np.uint8)
    places = grid(10, 14) + draw.normal(0, 3, (2, 10, 14)).astype(np.float32)
    found = fetch(mask, places)
    for y in range(10):
        for x in range(14):
            row, column = round(float(places[0, y, x])), round(float(places[1, y, x]))
            slow = mask[row, column] if 0 <= row < 10 and 0 <= column < 14 else 0
            assert found[y, x] == slow


def test_a_mask_at_another_size_moves_in_proportion() -> None:
    mask = np.zeros((80, 120), np.uint8)
    mask[20:40, 30:60] = 2
    places = grid(20, 30)
    places[1] -= 5  # of 30: a sixth of the width, 20 pixels of the mask
    assert np.array_equal(fetch(mask, places)[:, 24:], np.roll(mask, 20, axis=1)[:, 24:])


def test_the_flow_of_a_shift_is_the_shift() -> None:
    draw = np.random.default_rng(2)
    from scipy.ndimage import gaussian_filter

    wide = gaussian_filter(draw.random((90, 120)), 3).astype(np.float32)
    wide = (wide - wide.min()) / (wide.max() - wide.min())
    here, there = wide[10:74, 10:106], wide[8:72, 13:109]  # there[x] = here[x + (-2, 3)]
    flow = flow_between(here, there)[:, 12:-12, 12:-12]
    assert np.median(flow[0]) == pytest.approx(2, abs=0.1) and np.median(flow[1]) == pytest.approx(-3, abs=0.1)


def test_what_goes_there_and_does_not_come_back_is_lost() -> None:
    mask = np.zeros((20, 20), bool)
    mask[5:15, 5:15] = True
    back, forth = (np.full((2, 20, 20), value, np.float32) for value in (2, -2))
    assert not holds.lost(mask, back, forth, RULES)
    forth[:, 7:14, 7:17] = 6  # seven of ten rows, where the mask leads
    assert holds.lost(mask, back, forth, RULES)
    slow = 0
    for y, x in zip(*np.nonzero(mask), strict=True):
        there = y + back[0, y, x], x + back[1, y, x]
        step = [back[axis, y, x] + bilinear(forth[axis], *there) for axis in range(2)]
        slow += np.hypot(*step) <= RULES.strays + 0.1 * np.hypot(*back[:, y, x])
    assert slow / mask.sum() < RULES.consistent


def test_areas_have_bounds_at_every_step_and_in_all() -> None:
    jumps = holds.area_jumps
    assert not jumps(100, 100, 100, RULES) and not jumps(100, 45, 41, RULES) and not jumps(100, 200, 245, RULES)
    assert jumps(100, 45, 39, RULES) and jumps(100, 240, 251, RULES) and jumps(100, 100, 131, RULES)
    assert jumps(100, 100, 76, RULES) and jumps(100, 1, 0, RULES)


def look(inside: float, outside: float, shift: int = 0) -> FrameView:
    mask = np.zeros((30, 30), bool)
    mask[10:20, 10:20] = True
    y, x = np.mgrid[:30, :30]
    grey = np.where(mask, inside, outside) + 0.1 * np.sin((x + shift) * 1.3) * np.cos(y * 0.9)
    colours = np.stack([grey] * 3, -1).astype(np.float32)
    return FrameView(colours, grey.astype(np.float32), mask)


def test_it_looks_different_where_contrast_or_texture_go() -> None:
    start = look(0.7, 0.4)
    assert not holds.looks_different(start, look(0.65, 0.4), start.grey, RULES)
    assert holds.looks_different(start, look(0.45, 0.4), start.grey, RULES)  # as its surround
    faint = look(0.42, 0.4)
    assert not holds.looks_different(faint, look(0.42, 0.4), faint.grey, RULES)
    assert holds.looks_different(faint, look(0.42, 0.4, shift=2), faint.grey, RULES)  # another texture, same colours


def test_contrast_is_the_mean_within_less_that_around() -> None:
    view = look(0.7, 0.4)
    ring = holds.surround(view.mask)
    slow = []
    width = max(2.0, 0.23 * float(np.sqrt(view.mask.sum())))
    for y in range(30):
        for x in range(30):
            nearest = min(np.hypot(y - a, x - b) for a, b in zip(*np.nonzero(view.mask), strict=True))
            slow.append(0 < nearest <= width)
    assert np.array_equal(ring.ravel(), slow)
    expected = view.colours[view.mask].mean(0) - view.colours[ring].mean(0)
    assert holds.contrast(view) == pytest.approx(expected)


def test_a_cut_is_a_frame_that_is_unlike_the_one_before() -> None:
    one, other = (np.random.default_rng(seed).random((20, 20)).astype(np.float32) for seed in (1, 2))
    assert holds.scene_cut(one, other, RULES) and not holds.scene_cut(one, one * 0.5 + 0.2, RULES)
