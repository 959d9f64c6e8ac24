"""A video as a clinician goes through it: predicted, corrected, carried, accepted, exported; files compared."""

import csv
import io
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.folders.reviewed import read_review, read_reviewed_mask
from endotransfer.testing.fixtures import MakeExperiment
from tests.browser.fitting import covered_on_a_phone, faults, faults_on_every_size, violations
from tests.browser.screens import Screen
from tests.browser.test_viewer_page import FAINT, NAMELESS
from tests.clips import write_clip
from tests.served import Server, serving, train_two

CUT, FRAMES = 30, 36


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ward")
    write_clip(place / "colon.mp4", frames=FRAMES, cut=CUT)
    write_clip(place / "short.mp4", frames=6)
    (place / "broken.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"x" * 400)
    return place


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment, ward: Path) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("video-viewer")
    with serving(train_two(root, make_experiment)[:1], ward, root / "home") as started:
        yield started


@pytest.fixture
def said() -> Iterator[list[str]]:
    said: list[str] = []
    yield said
    assert [text for text in said if not any(word in text for word in ("willReadFrequently", "Autofocus"))] == []


@pytest.fixture
def page(browser: Any, viewer: Server, said: list[str], screen: Screen, ward: Path) -> Iterator[Any]:
    """The tab Video, on the test's screen; afterwards nothing is decided any more."""
    context = browser.new_context(**screen.context)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(viewer.address + "#video")
    page.wait_for_selector("#title:has-text('frame')")
    yield page
    context.close()
    shutil.rmtree(ward / "reviewed", ignore_errors=True)


def at_frame(page: Any, frame: int) -> None:
    page.wait_for_function(
        "frame => document.getElementById('title').textContent.endsWith(`frame ${frame}`)", arg=frame
    )
    page.wait_for_timeout(80)


def predict(page: Any) -> None:
    page.select_option("#walk-rate", "1000")
    page.click("#walk-start")
    page.wait_for_selector(f"#walk-note:has-text('{FRAMES} frames predicted')", timeout=60_000)


def draw(page: Any) -> None:
    """A lasso around the lesion of frame 10: centre (23, 32), radius 11 of 64 pixels."""
    page.click("#tools label:has-text('Lasso')")
    box = page.locator("#canvas").bounding_box()
    scale = min(box["width"], box["height"]) / 64
    left, top = box["x"] + (box["width"] - 64 * scale) / 2, box["y"] + (box["height"] - 64 * scale) / 2
    turn = np.linspace(0, 2 * np.pi, 24)
    page.click("#blank")
    places = [(left + (23.2 + 11 * np.cos(t) + 0.5) * scale, top + (32 + 11 * np.sin(t) + 0.5) * scale) for t in turn]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()


def test_a_video_is_reviewed_carried_accepted_and_exported(
    page: Any, screen: Screen, ward: Path, tmp_path: Path
) -> None:
    assert page.locator("#videos button").count() == 3
    assert "cannot be opened" in page.inner_text("#videos button:disabled small")
    predict(page)
    page.keyboard.press("Home")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    at_frame(page, 10)
    page.keyboard.press("Shift+ArrowRight")  # a second: twelve frames
    at_frame(page, 22)
    page.keyboard.press("Shift+ArrowLeft")
    at_frame(page, 10)
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    draw(page)
    page.click("#save:enabled")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    drawn = read_reviewed_mask(ward, "colon.mp4@000010", 2)
    assert drawn is not None and 300 < drawn.sum() < 460  # pi 11^2 = 380
    page.click("#carry-start")
    page.wait_for_selector(
        "#carry-note:has-text('10 back (the video begins), 19 on (the scene changes)')", timeout=60_000
    )
    page.keyboard.press("ArrowRight")
    at_frame(page, 11)
    page.wait_for_selector("#decision:has-text('Carried from frame 10 by Ada')")
    assert faults_on_every_size(page, screen) == []
    assert covered_on_a_phone(page, screen) == []
    assert violations(page) == []
    assert read_review(ward, "colon.mp4@000011") is None
    page.keyboard.press("a")  # one of them
    page.wait_for_selector("#decision:has-text('Accepted by Ada')")
    page.click("#carried-accept")  # and all the others
    page.wait_for_selector("#carried-row", state="hidden")
    for number in (0, 11, 29):
        review = read_review(ward, f"colon.mp4@{number:06d}")
        assert review is not None and (review.decision, review.who, review.carried_from) == ("accepted", "Ada", 10)
    page.keyboard.press("u")  # undone, as with images: it waits again
    page.wait_for_selector("#decision:has-text('Carried from frame 10 by Ada')")
    assert read_review(ward, "colon.mp4@000029") is None
    page.keyboard.press("Shift+U")
    page.wait_for_selector("#decision:has-text('Accepted by Ada')")
    page.keyboard.press("End")
    at_frame(page, FRAMES - 1)
    page.keyboard.press("r")
    page.wait_for_selector("#decision:has-text('Rejected by Ada')")
    page.keyboard.press("u")
    page.wait_for_selector("#decision:has-text('Not reviewed yet')")
    assert read_review(ward, f"colon.mp4@{FRAMES - 1:06d}") is None
    exported(page, tmp_path, drawn)


def exported(page: Any, tmp_path: Path, drawn: np.ndarray) -> None:
    page.click("#export summary")
    page.click("#export-start")
    page.wait_for_selector("#export-note:has-text('30 images exported.')")
    with page.expect_download() as started:
        page.click("#export-file")
    started.value.save_as(tmp_path / "reviewed.zip")
    with zipfile.ZipFile(tmp_path / "reviewed.zip") as packed:
        with Image.open(io.BytesIO(packed.read("masks/colon.mp4@000010.png"))) as saved:
            assert np.array_equal(np.asarray(saved), drawn * 255)
        with Image.open(io.BytesIO(packed.read("images/colon.mp4@000010.png"))) as saved:
            assert saved.size == (64, 64)
    with page.expect_download() as started:
        page.click("#curve-file")
    started.value.save_as(tmp_path / "curve.csv")
    rows = list(csv.DictReader((tmp_path / "curve.csv").open(encoding="utf-8")))
    assert len(rows) == FRAMES
    assert (rows[10]["decision"], rows[11]["decision"], rows[11]["carried_from"]) == ("corrected", "accepted", "10")


def test_scrubbing_playing_and_peaks(page: Any) -> None:
    predict(page)
    box = page.locator("#timeline").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 9, middle, steps=12)
    page.mouse.up()
    at_frame(page, FRAMES - 1)
    page.keyboard.press(" ")  # from the end it begins anew
    page.wait_for_selector("#play[aria-label=Pause]")
    page.wait_for_function("() => Number(document.getElementById('timeline').ariaValueNow) > 8")
    page.keyboard.press(" ")
    page.wait_for_selector("#play[aria-label=Play]")
    page.keyboard.press("Home")
    at_frame(page, 0)
    page.keyboard.press("k")
    page.wait_for_function("() => Number(document.getElementById('timeline').ariaValueNow) > 0")
    page.click("#tab-images")  # the first view has its stage and its image again
    assert page.locator("#images .stage").count() == 1 and page.is_hidden("#timeline-box")
    page.click("#tab-video")
    page.wait_for_selector("#video .stage")


@pytest.mark.by_touch
def test_by_touch(page: Any) -> None:
    box = page.locator("#timeline").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => Math.abs(Number(document.getElementById('timeline').ariaValueNow) - 17.5) < 2.6")


@pytest.mark.every_screen
def test_it_fits_and_can_be_read(page: Any, screen: Screen) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= screen.width
    assert page.evaluate(NAMELESS) == [] and page.evaluate(FAINT) == []
    assert faults(page) == []
    inside = """() => { const edge = document.querySelector(".stage").getBoundingClientRect().right + 0.5;
      return [...document.querySelectorAll("#timeline-box *")]
        .filter((one) => one.offsetParent && !one.closest(".spoken"))
        .filter((one) => one.tagName !== "OPTION" && one.getBoundingClientRect().right > edge)
        .map((one) => one.outerHTML); }"""
    assert page.evaluate(inside) == []


def test_a_video_that_vanished_and_one_that_is_dropped(page: Any, ward: Path, said: list[str], tmp_path: Path) -> None:
    shutil.move(ward / "short.mp4", tmp_path / "short.mp4")
    page.click("#videos button:has-text('short.mp4')")
    page.wait_for_selector("#messages:has-text('short.mp4 is no longer there; put it back where it was.')")
    page.set_input_files("#video-file", tmp_path / "short.mp4")
    page.wait_for_selector("#videos button[aria-current]:has-text('not saved')")
    at_frame(page, 0)
    assert page.locator("#curve-file").is_hidden()  # nothing is predicted of it yet
    page.fill("#who", "Ada")
    page.click("#reject")
    page.wait_for_selector("#messages:has-text('Decisions are kept beside the images of a folder')")
    shutil.move(tmp_path / "short.mp4", ward / "short.mp4")
    said[:] = [text for text in said if "410" not in text]  # the browser's own word for the vanished one
