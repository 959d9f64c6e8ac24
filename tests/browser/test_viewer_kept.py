"""Unsaved drawings outlast a reload, and overwrite nobody's decision."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from endotransfer.data.folders.reviewed import read_review, read_reviewed_mask
from tests.browser.looking import draft, on_screen, settled

CHANGED = "Failed to load resource: the server responded with a status of 412 (Precondition Failed)"


def stroke(page: Any, row: int) -> None:
    page.mouse.move(*on_screen(page, 20, row))
    page.mouse.down()
    page.mouse.move(*on_screen(page, 70, row), steps=5)
    page.mouse.up()
    page.wait_for_timeout(60)


def begin(page: Any, who: str) -> str:
    page.on("dialog", lambda dialog: dialog.accept())  # leave the page
    page.fill("#who", who)
    page.locator("#who").blur()
    page.uncheck("#advance")
    page.keyboard.press("b")
    return str(page.inner_text("#title").split()[0])


def reload(page: Any) -> None:
    page.wait_for_timeout(1200)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.uncheck("#advance")


def test_a_drawing_and_its_steps_are_back_after_a_reload(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    name = begin(page, "Ada")
    page.click("#blank")
    steps = []
    for row in (20, 50, 80):
        stroke(page, row)
        steps.append(draft(page))
    page.keyboard.press("z")
    reload(page)
    assert page.inner_text("#title").split()[0] == name
    page.wait_for_selector(f"#messages:has-text('Your unsaved drawing of {name} is back')")
    assert (draft(page) == steps[1]).all()
    page.keyboard.press("y")
    assert (draft(page) == steps[2]).all()
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert (draft(page) == steps[0]).all()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("name => !document.getElementById('title').innerText.startsWith(name)", arg=name)
    page.keyboard.press("ArrowLeft")
    settled(page, name)
    assert (draft(page) == steps[0]).all()
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    saved = read_reviewed_mask(images, name, 2)
    assert saved is not None and (saved == steps[0]).all()
    reload(page)
    settled(page, name)
    assert draft(page).size == 0  # saved: nothing is left to take up
    page.keyboard.press("b")
    stroke(page, 50)
    page.wait_for_timeout(1200)
    page.click("#discard")
    reload(page)
    assert draft(page).size == 0


def test_a_decision_made_meanwhile_stays(visit: Callable[..., Any], images: Path) -> None:
    hers, his = visit(), visit()
    visit.expected = [CHANGED]  # type: ignore[attr-defined]
    name = begin(hers, "Ada")
    stroke(hers, 50)
    drawn = draft(hers)
    begin(his, "Grace")
    his.keyboard.press("v")
    his.keyboard.press("r")
    his.wait_for_selector("#decision:has-text('Rejected by Grace')")
    reload(hers)
    assert (draft(hers) == drawn).all()
    hers.keyboard.press("s")
    hers.wait_for_selector("#messages:has-text('meanwhile')")
    review = read_review(images, name)
    assert review is not None and (review.who, review.decision) == ("Grace", "rejected")
    assert (draft(hers) == drawn).all()


def test_a_blind_reading_begins_without_what_was_drawn_over_a_model(visit: Callable[..., Any]) -> None:
    page, other = visit(), visit()
    for one in (page, other):
        one.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    if page.locator("#only-split option[value=test]").count():  # the sample is drawn from it
        page.select_option("#only-split", "test")
    page.locator("#strip button").first.click()
    settled(page, page.locator("#strip b").first.inner_text())
    begin(page, "Ada")
    stroke(page, 50)
    page.wait_for_timeout(1200)
    other.fill("#count", str(page.locator("#strip button").count()))
    other.click("#draw")
    other.wait_for_selector("#drawn:not([hidden])")
    reload(page)
    assert draft(page).size == 0
