"""The polygon and what tidies a drawing, in the page: to the pixel."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.browser.looking import draft, on_screen


def corners(page: Any, *places: tuple[float, float], button: str = "left") -> None:
    for x, y in places:
        page.mouse.click(*on_screen(page, x, y), button=button)


def test_a_polygon_closes_at_its_first_corner_or_by_enter_and_is_forgotten_by_escape(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("g")
    page.click("#blank")
    expected = np.zeros((96, 96), np.uint8)
    corners(page, (19.5, 29.5), (50.5, 29.5), (50.5, 60.5), (19.5, 60.5))
    assert (draft(page) == expected).all()  # not before it is closed
    corners(page, (19.8, 29.8))  # near enough to the first
    expected[30:61, 20:51] = 1
    assert (draft(page) == expected).all()
    corners(page, (69.5, 9.5), (89.5, 9.5), (89.5, 19.5), (69.5, 19.5))
    page.keyboard.press("Enter")
    expected[10:20, 70:90] = 1
    assert (draft(page) == expected).all()
    corners(page, (60, 60), (80, 60), (80, 80))
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    assert (draft(page) == expected).all()
    corners(page, (29.5, 39.5), (39.5, 39.5), (39.5, 49.5), (29.5, 49.5), button="right")
    page.keyboard.press("Enter")
    expected[40:50, 30:40] = 0
    assert (draft(page) == expected).all()
    page.keyboard.press("z")
    expected[40:50, 30:40] = 1
    assert (draft(page) == expected).all()
    page.keyboard.press("z")
    expected[10:20, 70:90] = 0
    assert (draft(page) == expected).all()


def test_smooth_takes_specks_and_corners_away(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("g")
    page.click("#blank")
    for left, top, side in ((20, 30, 31), (80, 80, 2)):
        low, high = (left - 0.5, top - 0.5), (left + side - 0.5, top + side - 0.5)
        corners(page, low, (high[0], low[1]), high, (low[0], high[1]))
        page.keyboard.press("Enter")
    expected = np.zeros((96, 96), np.uint8)
    expected[30:61, 20:51] = 1
    speck = draft(page) - expected
    assert speck[80:82, 80:82].sum() == speck.sum() >= 1  # on a phone its last corner is near enough to close it
    page.click("#smooth")  # at most four of nine around each of its pixels
    expected[[30, 30, 60, 60], [20, 50, 20, 50]] = 0
    assert (draft(page) == expected).all()
