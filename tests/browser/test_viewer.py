"""The viewer in a real browser, used as a person uses it: choose, look, compare, go on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.browser.looking import Look, marked_image, settled, title
from tests.served import Server

REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)"


def test_the_slider_changes_the_mask_at_once(visit: Callable[..., Any]) -> None:
    page = visit()
    marked_image(page)
    page.check("input[value=fill]", force=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    areas, pictures = [], []
    for threshold in ("0.02", "0.5", "0.98"):
        page.locator("#threshold").fill(threshold)
        pictures.append(Look(page))
        areas.append(float(page.inner_text("#figures tr:has-text('Lesion area') td").rstrip(" %")))
    assert areas[0] > areas[1] or areas[1] > areas[2]
    assert areas == sorted(areas, reverse=True)
    assert pictures[2] - pictures[0] > 500
    assert asked == []  # all of it in the browser


def test_opacity_style_and_classes_change_what_is_drawn(visit: Callable[..., Any]) -> None:
    page = visit()
    marked_image(page)
    page.locator("#threshold").fill("0.3")
    assert page.is_checked("input[value=outline]")
    filled = Look(page)
    changes: tuple[Callable[[], None], ...] = (
        lambda: page.check("input[value=fill]", force=True),
        lambda: page.check("input[value=errors]", force=True),
        lambda: page.check("input[value=heat]", force=True),
        lambda: page.locator("#brightness").evaluate("(b) => { b.value = 180; b.dispatchEvent(new Event('input')); }"),
        lambda: page.locator("#opacity").fill("90"),
        lambda: page.keyboard.press("h"),
    )
    for change in changes:
        change()
        now = Look(page)
        assert now - filled > 50
        filled = now
    plain = filled
    page.keyboard.press("h")
    page.check("input[value=outline]", force=True)
    assert Look(page) - plain > 50
    page.uncheck("#classes input")
    assert Look(page) - plain == 0  # the only class is hidden: the image as it is


def test_the_keyboard_goes_through_the_folder(visit: Callable[..., Any]) -> None:
    page = visit()
    names = page.locator("#strip b").all_inner_texts()
    assert names == sorted(names)
    assert title(page) == names[0]
    for name in names[1:4]:
        page.keyboard.press("ArrowRight")
        settled(page, name)
        assert title(page) == name
        assert page.locator("#strip [aria-current]").count() == 1
        assert name in page.inner_text("#live")
    page.keyboard.press("ArrowLeft")
    settled(page, names[2])
    page.focus("#who")
    page.keyboard.press("ArrowRight")  # while one types, arrows move the cursor
    page.wait_for_timeout(100)
    assert title(page) == names[2]


@pytest.mark.parametrize("order", ["doubt", "area", "disagreement"])
def test_images_are_sorted(visit: Callable[..., Any], server: Server, order: str) -> None:
    page = visit()
    page.wait_for_function("() => document.getElementById('survey').hidden")
    page.select_option("#order", order)
    page.wait_for_timeout(400)
    rows = json.loads(server.get(f"/api/images?order={order}")[1])["images"]
    assert page.locator("#strip b").all_inner_texts() == [row["name"] for row in rows]


def test_two_models_and_the_truth_are_compared_by_a_swipe(visit: Callable[..., Any]) -> None:
    page = visit()
    marked_image(page)
    alone = Look(page)
    page.keyboard.press("c")
    assert page.inner_text("#side-left") == "robust"
    assert page.inner_text("#side-right") == "source"
    assert Look(page) - alone > 100
    page.select_option("#right", "truth")
    assert page.locator("#figures tr:has-text('IoU') td").count() == 2
    pictures = []
    for at in ("100", "0"):
        page.locator("#swipe").fill(at)
        pictures.append(Look(page))
    assert pictures[0] - pictures[1] > 500  # all of one side, all of the other
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40, steps=4)
    page.mouse.up()
    assert 45 <= int(page.input_value("#swipe")) <= 55
    page.check("#truth-outline")


def test_the_iou_shown_is_that_of_the_masks(visit: Callable[..., Any], server: Server) -> None:
    page = visit()
    name = marked_image(page)
    rows = {row["name"]: row for row in json.loads(server.get("/api/images")[1])["images"]}
    shown = page.inner_text("#figures tr:has-text('IoU') td")
    known = rows[name]["iou"]
    assert shown == ("–" if known is None else f"{100 * known:.1f} %")


def test_zoom_and_pan(visit: Callable[..., Any]) -> None:
    page = visit()
    whole = Look(page)
    page.keyboard.press("+")
    larger = Look(page)
    assert larger - whole > 1000
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 230, steps=3)
    page.mouse.up()
    assert Look(page) - larger > 1000
    page.mouse.wheel(0, -300)
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("0")
    page.mouse.move(1, 1)
    assert Look(page) - whole == 0


def test_an_image_from_elsewhere_is_opened_and_its_mask_downloaded(visit: Callable[..., Any], tmp_path: Path) -> None:
    page = visit()
    visit.expected = [REFUSED]  # type: ignore[attr-defined]
    pixels = np.random.default_rng(0).integers(0, 255, (50, 70, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "mine.jpg")
    (tmp_path / "broken.png").write_bytes(b"nothing")
    page.set_input_files("#files", [tmp_path / "broken.png", tmp_path / "mine.jpg"])
    settled(page, "mine")
    assert "broken.png" in page.inner_text("#messages")
    assert "70 × 50" in page.inner_text("#reading")
    with page.expect_download() as loading:
        page.click("#download")
    assert loading.value.suggested_filename == "mine.png"
    with Image.open(loading.value.path()) as mask:
        assert mask.size == (70, 50)
        assert set(np.unique(np.asarray(mask.convert("L")))) <= {0, 255}
    page.keyboard.press("a")
    assert "--images" in page.inner_text("#messages")


def test_the_frames_of_a_video_are_taken_in_the_browser(visit: Callable[..., Any]) -> None:
    page = visit()
    page.evaluate("""async () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 });
      const context = canvas.getContext("2d");
      const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: "video/webm" });
      const parts = [];
      recorder.ondataavailable = (event) => parts.push(event.data);
      const over = new Promise((resolve) => { recorder.onstop = resolve; });
      recorder.start();
      for (let frame = 0; frame < 20; frame += 1) {
        context.fillStyle = `rgb(${frame * 12}, 40, 90)`;
        context.fillRect(0, 0, 64, 48);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      recorder.stop();
      await over;
      const transfer = new DataTransfer();
      transfer.items.add(new File(parts, "clip.webm", { type: "video/webm" }));
      dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
    }""")
    page.wait_for_function(
        "() => document.querySelector('#strip b').textContent.startsWith('clip.webm')", timeout=30000
    )
    page.wait_for_function("() => document.getElementById('title').textContent.startsWith('clip.webm')", timeout=30000)
    assert page.locator("#strip b:has-text('clip.webm')").count() >= 2
