"""Split and Merge in a real browser, by the mouse: lesions are counted as the figures count them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from endotransfer.data.folders.reviewed import read_reviewed_mask
from tests.browser.looking import Look, draft, drawn_boxes, on_screen

EIGHT = np.ones((3, 3))
SKIN = """async () => {
  const { state } = await import('/page/state.js');
  const { draft, past, future } = state.image;
  return [Boolean(draft), past.length, future.length];
}"""


def draw(page: Any, *places: tuple[float, float]) -> None:
    page.mouse.move(*on_screen(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*on_screen(page, *place), steps=5)
    page.mouse.up()
    page.wait_for_timeout(60)


def click(page: Any, x: float, y: float) -> None:
    page.mouse.click(*on_screen(page, x, y))
    page.wait_for_timeout(60)


def test_a_line_splits_a_lesion_and_a_line_merges_two(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    page.keyboard.press("b")
    whole = drawn_boxes(page, (20, 30, 70, 60))
    page.keyboard.press("w")
    before = Look(page)
    draw(page, (40, 20), (50, 45), (44, 75))  # bent
    apart = draft(page)
    assert ndimage.label(apart, EIGHT)[1] == 2
    assert (apart <= whole).all()
    assert (whole - apart).sum() < 60  # a line of one pixel and its steps
    assert Look(page) - before > 50
    page.keyboard.press("z")
    assert (draft(page) == whole).all()
    page.keyboard.press("y")
    assert (draft(page) == apart).all()
    page.keyboard.press("q")
    click(page, 25, 45)
    click(page, 65, 45)
    assert (draft(page) == whole).all()
    page.keyboard.press("z")
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    name = page.inner_text("#title").split()[0]
    assert np.array_equal(read_reviewed_mask(images, name, 2), apart)  # type: ignore[arg-type]


def test_what_cannot_be_split_or_merged_is_told_and_nothing_begins(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("w")
    draw(page, (1, 1), (3, 3))
    page.wait_for_selector("#messages:has-text('No lesion comes apart along this line')")
    assert page.evaluate(SKIN)[0] is False  # not even a correction
    page.keyboard.press("b")
    whole = drawn_boxes(page, (20, 30, 70, 60))
    draw(page, (10, 80), (15, 80))
    page.keyboard.press("z")
    assert page.evaluate(SKIN) == [True, 0, 1]
    page.keyboard.press("w")
    draw(page, (40, 20), (40, 45))  # it ends within
    page.keyboard.press("q")
    draw(page, (25, 40), (65, 45))
    page.wait_for_selector("#messages:has-text('There are no two lesions on this line')")
    assert (draft(page) == whole).all()
    assert page.evaluate(SKIN) == [True, 0, 1]  # what can be redone, still can
    click(page, 25, 45)
    page.keyboard.press("Escape")  # its first point is forgotten
    click(page, 45, 45)
    click(page, 90, 45)
    assert (draft(page) == whole).all()


def test_a_bridge_fills_the_gap_and_little_more(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("b")
    before = drawn_boxes(page, (10, 30, 30, 50), (45, 35, 70, 60), (80, 80, 90, 90))
    page.keyboard.press("q")
    draw(page, (20, 40), (60, 45))
    merged = draft(page)
    assert (merged >= before).all()
    assert ndimage.label(merged, EIGHT)[1] == 2  # the third lesion was not touched
    bridge = merged > before
    rows, columns = np.nonzero(bridge)
    assert bridge[35:51, 31:45].all()  # the gap between the edges that face each other
    assert bridge.sum() < 2 * 16 * 14
    assert 30 <= rows.min() <= rows.max() <= 60
    assert 20 < columns.min() <= columns.max() < 55
