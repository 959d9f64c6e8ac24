"""Every tool in a real browser by the keyboard alone: what is drawn is compared pixel by pixel."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from tests.browser.looking import Look, draft, drawn_boxes, put_cursor

Mask = NDArray[np.uint8]
ROWS, COLUMNS = np.mgrid[:96, :96]
BRUSH = "async () => { const { state } = await import('/page/state.js'); return state.brush; }"
REGION = """async ([x, y]) => {
  const { state } = await import('/page/state.js');
  const regions = state.image.regions[state.regionSize];
  return [...regions].map((region) => Number(region === regions[y * 96 + x]));
}"""


@pytest.fixture
def page(visit: Callable[..., Any]) -> Any:
    """An empty drawing, and a cursor in its middle."""
    opened = visit()
    opened.keyboard.press("b")
    opened.click("#blank")
    opened.keyboard.press("x")
    opened.wait_for_function("() => /Cursor at/.test(document.getElementById('live').textContent)")
    return opened


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def along(row: int, left: int, right: int, radius: float) -> NDArray[np.bool_]:
    """Within `radius` of a stretch of a row."""
    beyond = np.maximum(0, np.maximum(left - COLUMNS, COLUMNS - right))
    inside: NDArray[np.bool_] = np.hypot(ROWS - row, beyond) <= radius
    return inside


def test_brush_and_eraser_follow_the_arrows_until_they_are_lifted(page: Any) -> None:
    press(page, "b")
    for _ in range(6):
        press(page, ",")
    radius = page.evaluate(BRUSH)
    put_cursor(page, 20, 40)
    before = Look(page)
    press(page, "i")
    assert "begun" in page.inner_text("#live")
    put_cursor(page, 60, 40)
    press(page, "i")
    assert page.inner_text("#live") == "Brush done"
    assert Look(page) - before > 50
    stroke = draft(page)
    assert (stroke == along(40, 20, 60, radius)).all()
    put_cursor(page, 80, 40)  # lifted: it only moves
    assert (draft(page) == stroke).all()
    press(page, "e")
    put_cursor(page, 50, 40)
    press(page, "i")
    put_cursor(page, 60, 40)
    press(page, "Enter")
    erased = stroke.astype(bool) & ~along(40, 50, 60, radius)
    assert (draft(page) == erased).all()
    press(page, "b")
    put_cursor(page, 20, 40)
    press(page, "o")
    put_cursor(page, 30, 40)
    press(page, "Escape")  # it was no stroke
    assert (draft(page) == erased).all()
    press(page, "o")
    put_cursor(page, 25, 40)
    press(page, "z")  # whatever else is asked for ends it first
    assert (draft(page) == erased).all()
    press(page, "y")
    assert (draft(page) == (erased & ~along(40, 25, 30, radius))).all()


@pytest.mark.parametrize("tool", ["lasso", "polygon"])
def test_areas_from_corners(page: Any, tool: str) -> None:
    square = ((ROWS >= 20) & (ROWS < 50) & (COLUMNS >= 10) & (COLUMNS < 60)).astype(np.uint8)
    inner = (ROWS >= 30) & (ROWS < 40) & (COLUMNS >= 20) & (COLUMNS < 30)
    for erase, corners in (
        (False, [(10, 20), (60, 20), (60, 50), (10, 50)]),
        (True, [(20, 30), (30, 30), (30, 40), (20, 40)]),
    ):
        press(page, "l" if tool == "lasso" else "g")
        for place, corner in enumerate(corners):
            put_cursor(page, *corner)
            if place == 0 or tool == "polygon":
                press(page, "o" if erase else "i")
        press(page, "Enter")
    # Whether a pixel on the line itself lies within is the rule of the filling, not of the keys.
    differing = draft(page) != (square & ~inner)
    lines = ndimage.binary_dilation(square) & ~ndimage.binary_erosion(square)
    lines |= ndimage.binary_dilation(inner) & ~ndimage.binary_erosion(inner)
    assert not (differing & ~lines).any()


def test_regions_one_by_one_and_along_a_way(page: Any) -> None:
    press(page, "p")
    page.wait_for_timeout(600)
    put_cursor(page, 48, 48)
    press(page, "i")
    page.wait_for_timeout(200)
    region = np.array(page.evaluate(REGION, [48, 48]), np.uint8).reshape(96, 96)
    assert (draft(page) == region).all()
    press(page, "o")
    page.wait_for_timeout(100)
    assert not draft(page).any()
    press(page, "Shift+I")
    put_cursor(page, 10, 48)
    press(page, "i")
    page.wait_for_timeout(300)
    other = np.array(page.evaluate(REGION, [10, 48]), np.uint8).reshape(96, 96)
    assert (draft(page) >= (region | other)).all()
    assert draft(page).sum() > (region | other).sum()


def test_a_box_for_the_tool_click(page: Any) -> None:
    press(page, "k")
    put_cursor(page, 20, 25)
    press(page, "Shift+I")
    put_cursor(page, 60, 70)
    press(page, "i")
    page.wait_for_selector("#click-note:has-text('A box')")
    page.wait_for_function("() => /A box, area/.test(document.getElementById('live').textContent)")
    found = draft(page)
    assert found.any()
    outside = np.ones((96, 96), bool)
    outside[20:76, 15:66] = False  # super-pixels may reach a little over its edge
    assert not found[outside].any()


def test_lesions_are_split_and_merged(page: Any) -> None:
    whole = drawn_boxes(page, (20, 30, 70, 60))
    press(page, "w")
    put_cursor(page, 45, 20)
    press(page, "i")
    put_cursor(page, 45, 70)
    press(page, "i")
    apart = draft(page)
    assert ndimage.label(apart, np.ones((3, 3)))[1] == 2
    assert [*np.unique(np.nonzero(whole != apart)[1])] == [45]
    press(page, "q")
    put_cursor(page, 30, 45)
    press(page, "Shift+I")  # or dragged
    put_cursor(page, 60, 45)
    press(page, "i")
    assert (draft(page) == whole).all()
    press(page, "z", "z")
    assert (draft(page) == whole).all()
    assert page.is_disabled("#undo")


def test_a_cursor_at_the_edge_brings_the_image_along(page: Any) -> None:
    for _ in range(8):
        press(page, "+")
    before = Look(page)
    for _ in range(40):
        press(page, "ArrowRight")
    assert Look(page) - before > 1000
    x = int(page.inner_text("#live").removeprefix("Cursor at ").split(",")[0])
    assert x > 60
