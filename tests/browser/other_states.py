"""Walks through the views beside the images: videos, runs, learning."""

from collections.abc import Iterator
from typing import Any

from tests.browser.looking import paint, review_first_of_batch
from tests.browser.states import State


def watching(page: Any) -> Iterator[State]:
    """A video from the first look to masks that are carried and wait; it has ten frames or more."""
    page.click("#tab-video")
    page.wait_for_selector("#title:has-text('frame')")
    yield "video", "#videos"
    page.select_option("#walk-rate", "1000")
    page.click("#walk-start")
    page.wait_for_selector("#walk-progress:visible")
    yield "video being predicted", "#walk-note"
    page.wait_for_selector("#walk-stop", state="hidden", timeout=240_000)
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#title:has-text('frame 5')")
    yield "curve", "#clock"
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    page.keyboard.press("b")
    paint(page)
    yield "frame painted", "#tools"
    page.click("#save:enabled")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    page.click("#carry-start")
    page.wait_for_selector("#carried-row:visible", timeout=60_000)
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#decision:has-text('Carried from frame 5')")
    yield "carried", "#carry"


def charted(page: Any) -> Iterator[State]:
    """The training runs."""
    page.click("#tab-runs")
    page.wait_for_selector("#runs h2")
    page.wait_for_timeout(300)
    yield "runs", "#runs"
    if page.locator(".growth").count():
        yield "pseudo-labels as they grow", ".growth"


def learning(page: Any) -> Iterator[State]:
    """A batch, a review, a training, and what it brought.  The served run must be one that can be trained again."""
    page.click("#tab-learn")
    page.wait_for_selector("#learn-reason", state="attached")
    yield "learn", "#learn"
    page.fill("#batch-count", "3")
    page.click("#batch")
    page.wait_for_selector("#batch-list a")
    yield "batch", "#batch-list"
    review_first_of_batch(page)
    page.click("#job-start:enabled")
    page.wait_for_selector("#job-charts svg", timeout=240_000)
    yield "training", "#job"
    page.wait_for_selector("#compared:visible", timeout=240_000)
    yield "before and after", "#compared"
