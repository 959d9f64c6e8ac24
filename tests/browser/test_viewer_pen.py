"""A pen draws, its other end erases; while there is one, fingers move the image and a resting hand does nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.browser.looking import Look, draft, drawn_boxes

# Events as a tablet sends them: [name, pointerType, pointerId, x, y, button], places as pixels of the image.
SEND = """async (events) => {
  const canvas = document.getElementById("canvas");
  canvas.setPointerCapture = () => {};
  const { view } = await import("/page/stage.js");
  const box = canvas.getBoundingClientRect();
  for (const [name, pointerType, pointerId, x, y, button] of events) {
    canvas.dispatchEvent(new PointerEvent(name, {
      pointerId, pointerType, button: button ?? (name === "pointermove" ? -1 : 0), bubbles: true,
      clientX: box.left + view.x + (x + 0.5) * view.scale, clientY: box.top + view.y + (y + 0.5) * view.scale }));
  }
}"""
VIEW = "async () => { const { view } = await import('/page/stage.js'); return [view.x, view.y, view.scale]; }"
Event = list[Any]


def stroke(kind: str, number: int, row: int, left: int, right: int, button: int = 0) -> list[Event]:
    moves = [["pointermove", kind, number, x, row] for x in range(left + 5, right + 1, 5)]
    return [["pointerdown", kind, number, left, row, button], *moves, ["pointerup", kind, number, right, row, button]]


@pytest.fixture
def page(visit: Callable[..., Any]) -> Any:
    opened = visit()
    opened.keyboard.press("b")
    drawn_boxes(opened)
    return opened


def test_a_finger_draws_until_a_pen_has(page: Any) -> None:
    page.evaluate(SEND, stroke("touch", 1, 20, 20, 60))
    by_finger = draft(page)
    assert by_finger[20, 20:60].all()
    page.evaluate(SEND, stroke("pen", 2, 50, 20, 60))
    by_pen = draft(page)
    assert by_pen[50, 20:60].all()
    before, view = Look(page), page.evaluate(VIEW)
    page.evaluate(SEND, stroke("touch", 3, 80, 20, 60))
    assert (draft(page) == by_pen).all()
    assert page.evaluate(VIEW)[0] > view[0] + 50  # it moved the image
    assert Look(page) - before > 1000
    page.mouse.move(600, 400)
    page.evaluate(SEND, stroke("mouse", 4, 80, 20, 60))
    assert draft(page)[80, 20:60].all()  # a mouse draws as ever


def test_the_other_end_and_the_button_of_a_pen_erase(page: Any) -> None:
    page.evaluate(SEND, stroke("pen", 1, 50, 10, 80))
    painted = draft(page)
    for button, columns in ((5, slice(20, 30)), (2, slice(60, 70))):
        page.evaluate(SEND, stroke("pen", 1, 50, columns.start, columns.stop, button))
        assert not draft(page)[50, columns].any()
    assert (draft(page) <= painted).all()
    assert draft(page)[50, 44:48].all()


def test_a_palm_before_and_under_the_pen_does_nothing(page: Any) -> None:
    view = page.evaluate(VIEW)
    down, *moves, up = stroke("pen", 2, 50, 20, 60)
    palm = [["pointerdown", "touch", 7, 70, 80], ["pointermove", "touch", 7, 74, 82]]
    again = [[f"pointer{what}", "touch", 8, 72, 85] for what in ("down", "move", "up")]
    page.evaluate(SEND, [*palm, down, ["pointermove", "touch", 7, 78, 84], *moves[:4], *again, *moves[4:], up])
    page.evaluate(SEND, [["pointerup", "touch", 7, 78, 84]])
    found = draft(page)
    assert found[50, 20:60].all()
    assert not found[70:, :].any()
    assert page.evaluate(VIEW) == view
    page.keyboard.press("z")
    assert not np.any(draft(page))  # one stroke, one step
    assert page.is_disabled("#undo")


def test_two_fingers_still_zoom(page: Any) -> None:
    page.evaluate(SEND, stroke("pen", 1, 50, 20, 60))
    before, drawn = page.evaluate(VIEW), draft(page)
    pinch = [["pointerdown", "touch", 3, 40, 40], ["pointerdown", "touch", 4, 60, 60]]
    page.evaluate(SEND, [*pinch, ["pointermove", "touch", 4, 90, 90], ["pointerup", "touch", 4, 90, 90]])
    page.evaluate(SEND, [["pointerup", "touch", 3, 40, 40]])
    assert page.evaluate(VIEW)[2] > 1.3 * before[2]
    assert (draft(page) == drawn).all()
