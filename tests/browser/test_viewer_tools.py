"""Drawing in a real browser: buttons, fingers and tools do what they say, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.reviewed import read_review
from tests.browser.looking import Look, draft, marked_image, settled
from tests.browser.screens import Screen

VIEW = "async () => { const { state } = await import('/page/state.js'); return [state.brush, state.tool]; }"


def drag(page: Any, points: list[tuple[float, float]], button: str = "left") -> None:
    """Through points given as shares of the canvas's shorter side from its middle."""
    box = page.locator("#canvas").bounding_box()
    side = min(box["width"], box["height"])
    places = [(box["x"] + box["width"] / 2 + x * side, box["y"] + box["height"] / 2 + y * side) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down(button=button)
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up(button=button)
    page.wait_for_timeout(60)


def test_the_right_button_erases_and_undo_and_redo_travel(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("b")
    page.click("#blank")
    drag(page, [(-0.3, 0), (0.3, 0)])
    painted = draft(page)
    assert painted.sum() > 200
    drag(page, [(0, 0), (0.3, 0)], "right")
    erased = draft(page)
    assert 0 < erased.sum() < painted.sum()
    assert not (erased & ~painted.astype(bool)).any()
    page.keyboard.press("z")
    assert (draft(page) == painted).all()
    page.keyboard.press("y")
    assert (draft(page) == erased).all()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+Shift+z")
    assert (draft(page) == erased).all()


PINCH = """() => {
  const canvas = document.getElementById("canvas");
  canvas.setPointerCapture = () => {};
  const box = canvas.getBoundingClientRect();
  const send = (name, pointerId, x, y) => canvas.dispatchEvent(new PointerEvent(name, {
    pointerId, pointerType: "touch", clientX: box.left + x, clientY: box.top + y, bubbles: true, buttons: 1,
    button: name === "pointermove" ? -1 : 0 }));
  send("pointerdown", 1, 100, 100);
  send("pointermove", 1, 105, 105);
  send("pointerdown", 2, 200, 200);
  for (let k = 0; k < 5; k += 1) send("pointermove", 2, 200 + 10 * k, 200 + 10 * k);
  send("pointerup", 2, 240, 240);
  for (let k = 0; k < 5; k += 1) send("pointermove", 1, 105 + 10 * k, 105);
  send("pointerup", 1, 150, 105);
}"""
ROOM = """() => {
  const select = document.getElementById("order");
  const context = document.createElement("canvas").getContext("2d");
  context.font = getComputedStyle(select).font;
  return select.clientWidth - context.measureText(select.selectedOptions[0].text).width;
}"""
FITS = "id => { const b = document.getElementById(id); return b.scrollWidth <= b.clientWidth; }"


@pytest.mark.by_touch
def test_a_pinch_never_paints(visit: Callable[..., Any]) -> None:
    page = visit()
    page.evaluate("document.querySelector('input[name=tool][value=brush]').click()")
    page.evaluate(PINCH)
    assert draft(page).size == 0
    assert page.evaluate(VIEW)[1] == "brush"


def test_areas_and_what_tidies_them(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("l")
    page.click("#blank")
    drag(page, [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)])
    square = draft(page)
    assert 0.8 < square.sum() / (0.4 * 96) ** 2 < 1.2
    assert square[48, 48] == 1
    page.keyboard.press("e")
    page.keyboard.press(",")
    drag(page, [(0, 0), (0.01, 0)])
    holed = draft(page)
    assert holed[48, 48] == 0
    page.click("#fill")
    assert (draft(page) == square).all()
    page.click("#grow")
    grown = draft(page)
    assert grown.sum() > square.sum()
    page.click("#shrink")
    assert abs(int(draft(page).sum()) - int(square.sum())) < 30
    page.click("#smooth")
    page.keyboard.press("g")
    box = page.locator("#canvas").bounding_box()
    for x, y in ((20, 20), (120, 20), (20, 120)):
        page.mouse.click(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 + y)
    before = draft(page)
    page.keyboard.press("Enter")
    assert draft(page).sum() >= before.sum()
    assert page.locator("#redo").is_disabled()


def test_regions_have_a_size_and_follow_the_pointer(visit: Callable[..., Any]) -> None:
    page = visit()
    areas = []
    for size in ("small", "large"):
        page.keyboard.press("p")
        page.select_option("#region-size", size)
        page.locator("#region-size").blur()
        page.wait_for_timeout(600)
        page.click("#blank")
        drag(page, [(0, 0.1)])
        page.wait_for_timeout(200)
        areas.append(int(draft(page).sum()))
        drag(page, [(-0.3, 0.1), (0.3, 0.1)])
        page.wait_for_timeout(200)
        drawn = draft(page)
        assert drawn.sum() > areas[-1]
        assert drawn[57, [19, 33, 62, 76]].all()  # every region that was dragged over, not the first alone
    assert areas[1] > 2 * areas[0] > 0


def test_alt_wheel_space_and_the_lesion(visit: Callable[..., Any]) -> None:
    page = visit()
    marked_image(page)
    page.keyboard.press("b")
    brush = page.evaluate(VIEW)[0]
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Alt")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Alt")
    page.wait_for_function("size => Number(document.getElementById('brush').value) > size", arg=brush)
    page.locator("#canvas").focus()
    page.keyboard.down(" ")
    before = Look(page)
    drag(page, [(0, 0), (0.2, 0.1)])
    page.keyboard.up(" ")
    assert draft(page).size == 0
    assert Look(page) - before > 500
    page.keyboard.press("v")
    page.keyboard.press("0")
    whole = Look(page)
    page.keyboard.press("f")
    assert Look(page) - whole > 500


def test_decisions_are_undone_and_redone_across_images_and_reloads(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    page.fill("#who", "Ada")
    page.locator("#who").blur()
    names = page.locator("#strip b").all_inner_texts()
    for number in (1, 2):
        page.keyboard.press("ar"[number - 1])
        settled(page, names[number])
    page.reload()
    page.wait_for_selector("html[data-ready]")
    for name in (names[1], names[0]):
        page.keyboard.press("u")
        settled(page, name)
        page.wait_for_selector("#decision:has-text('Not reviewed yet')")
    assert [read_review(images, name) for name in names[:2]] == [None, None]
    page.keyboard.press("Shift+U")
    page.wait_for_selector("#decision:has-text('Accepted by Ada')")
    page.click("#history summary")
    page.wait_for_selector("#versions li:has-text('3. back to 1 by Ada')")
    assert page.locator("#versions li").count() == 3
    assert read_record(images, names[0]).revision == 3


@pytest.mark.every_screen
def test_nothing_is_cut_off_with_a_tool_in_hand(visit: Callable[..., Any], screen: Screen) -> None:
    page = visit()
    page.evaluate("document.querySelector('input[name=tool][value=brush]').click()")
    page.evaluate("document.getElementById('blank').click()")
    if screen.width < 760:  # a larger page does not scroll
        page.locator("#save").scroll_into_view_if_needed()
    for name in ("accept", "reject", "save"):
        box = page.locator(f"#{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= screen.width
        assert box["y"] + box["height"] <= screen.height
        assert page.evaluate(FITS, name)
    for order in ("doubt", "disagreement"):
        page.select_option("#order", order)
        assert page.evaluate(ROOM) > 24  # the arrow and the padding
    assert page.evaluate("document.documentElement.scrollWidth") <= screen.width
