"""The review loop in a real browser: what a person decides and draws is looked for on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from endotransfer.data.folders.reviewed import read_review, read_reviewed_mask
from tests.browser.looking import Look, marked_image, paint, settled

CONFLICT = "Failed to load resource: the server responded with a status of 409 (Conflict)"
CHANGED = "Failed to load resource: the server responded with a status of 412 (Precondition Failed)"


def test_a_correction_is_found_on_disk(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    name = marked_image(page)
    masks = {path.name: path.read_bytes() for path in (images / "masks").iterdir()}
    page.click("#tools label:has-text('Brush')")
    page.click("#blank")
    paint(page)
    drawn = Look(page)
    page.keyboard.press("s")
    assert "enter your name" in page.inner_text("#messages")
    page.fill("#who", "Ada Lovelace")
    page.uncheck("#advance")
    page.click("#save")
    page.wait_for_selector("#decision:has-text('Corrected by Ada Lovelace')")
    review, mask = read_review(images, name), read_reviewed_mask(images, name, 2)
    assert review is not None and mask is not None
    assert (review.decision, review.who, review.model) == ("corrected", "Ada Lovelace", None)
    assert mask.shape == (96, 96)
    assert set(np.unique(mask)) == {0, 1}
    assert mask[48, 48] == 1  # the stroke went through the middle,
    assert mask[48].sum() > mask[:, 48].sum()  # from left to right
    assert not mask[:20].any()
    assert {path.name: path.read_bytes() for path in (images / "masks").iterdir()} == masks
    assert page.input_value("#left") == "reviewed"
    page.mouse.move(1, 1)
    assert Look(page) - drawn < 3000  # what was drawn is what is kept, but for the brush's ring
    saved = Look(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.getElementById('left').value === 'model0'")  # nobody corrected that one
    page.keyboard.press("ArrowLeft")
    settled(page, name)
    assert page.input_value("#left") == "reviewed" and Look(page) - saved < 3000  # shown as it was corrected
    page.keyboard.press("a")
    assert "reviewed mask, and it holds already" in page.inner_text("#messages")


def test_erasing_regions_undo_and_unsure(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    name = marked_image(page)
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    page.locator("#threshold").fill("0.02")
    before = Look(page)
    paint(page, "Erase")
    erased = Look(page)
    assert erased - before > 100
    page.keyboard.press("z")
    page.mouse.move(1, 1)
    page.select_option("#paint", "255")
    paint(page, "Region")
    page.wait_for_timeout(500)
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Corrected')")
    mask, review = read_reviewed_mask(images, name, 2), read_review(images, name)
    assert mask is not None and review is not None
    assert review.model == "robust"
    assert 10 < (mask == 255).sum() < 96 * 96 / 4  # one super-pixel


def test_accept_reject_and_take_back(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    page.fill("#who", "Grace")
    page.locator("#who").blur()
    names = page.locator("#strip b").all_inner_texts()
    page.keyboard.press("a")
    settled(page, names[1])
    page.keyboard.press("r")
    settled(page, names[2])
    decisions = [review.decision for name in names[:2] if (review := read_review(images, name))]
    assert decisions == ["accepted", "rejected"]
    assert page.locator("#strip i:visible").all_inner_texts() == ["✓", "✕"]
    page.select_option("#filter", "open")
    assert page.locator("#strip b").all_inner_texts() == names[2:]
    page.select_option("#filter", "all")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#decision:has-text('Rejected by Grace')")
    page.click("#decision button")
    page.wait_for_selector("#decision:has-text('Not reviewed')")
    assert read_review(images, names[1]) is None


def test_accepting_over_a_drawing_is_asked_and_can_be_taken_back(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    visit.expected = [CONFLICT] * 2  # type: ignore[attr-defined]
    name = marked_image(page)
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    paint(page)
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    drawn = read_reviewed_mask(images, name, 2)
    page.select_option("#left", "model0")
    page.keyboard.press("v")
    page.keyboard.press("a")
    page.wait_for_selector("#confirm:has-text('Ada drew')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#confirm", state="hidden")  # until then keys belong to the dialog
    page.keyboard.press("a")
    page.click("#confirm button:has-text('Leave it')")
    page.wait_for_selector("#confirm", state="hidden")
    assert read_review(images, name).decision == "corrected"  # type: ignore[union-attr]
    visit.expected.append(CONFLICT)  # type: ignore[attr-defined]
    page.keyboard.press("a")
    page.click("#confirm-yes")
    page.wait_for_selector("#decision:has-text('Accepted by Ada')")
    page.click("#decision button")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    assert np.array_equal(read_reviewed_mask(images, name, 2), drawn)  # type: ignore[arg-type]


def test_of_two_people_at_one_image_the_second_sees_the_firsts_decision(
    visit: Callable[..., Any], images: Path
) -> None:
    one, other = visit(), visit()
    visit.expected = [CHANGED]  # type: ignore[attr-defined]
    for page, who in ((one, "Ada"), (other, "Grace")):
        page.fill("#who", who)
        page.uncheck("#advance")
        page.locator("#who").blur()
    other.click("#history summary")
    one.keyboard.press("a")
    one.wait_for_selector("#decision:has-text('Accepted by Ada')")
    other.keyboard.press("r")
    other.wait_for_selector("#decision:has-text('Accepted by Ada')")
    other.wait_for_selector("#messages:has-text('meanwhile')")
    other.wait_for_selector("#versions li:has-text('accepted by Ada')")
    said = other.inner_text("#decision").removesuffix(". Take back")
    assert other.inner_text("#versions li") == f"1. {said[0].lower()}{said[1:]}"  # one way to write a date
    other.keyboard.press("r")
    other.wait_for_selector("#decision:has-text('Rejected by Grace')")
