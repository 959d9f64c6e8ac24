"""What canvas and grid show, pixel by pixel: errors in their colours, light, lesions in turn, masks on thumbnails."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.browser.looking import Look, drawn_boxes, marked_image, on_screen, paint
from tests.served import Server

ERRORS = """async () => {
  const { state } = await import("/page/state.js");
  const { overlay } = await import("/page/overlay.js");
  const { labelsOf } = await import("/page/image.js");
  const { image } = state;
  const { data } = overlay(image, "model0", 1).getContext("2d").getImageData(0, 0, image.width, image.height);
  return { pixels: [...data], mask: [...labelsOf(image, "model0")], truth: [...image.truth] };
}"""
COLOURS = {(1, 1): (64, 176, 166), (1, 0): (225, 120, 20), (0, 1): (220, 60, 190)}  # by (mask, truth)
PIXEL = """([x, y]) => {
  const canvas = document.getElementById("canvas");
  const box = canvas.getBoundingClientRect();
  return [...canvas.getContext("2d").getImageData(x - box.left, y - box.top, 1, 1).data].slice(0, 3);
}"""
SET = "([id, value]) => Object.assign(document.getElementById(id), { value }).dispatchEvent(new Event('input'))"
VIEW = "async () => { const { scale } = await import('/page/stage.js'); return scale(); }"


def test_errors_have_the_colours_of_the_legend(visit: Callable[..., Any]) -> None:
    page = visit()
    marked_image(page)
    page.check("input[value=errors]", force=True)
    page.wait_for_timeout(100)
    found = page.evaluate(ERRORS)
    pixels = np.array(found["pixels"]).reshape(-1, 4)
    mask, truth = np.array(found["mask"]), np.array(found["truth"])
    assert ((mask != truth) & (truth != 255)).any()
    for (drawn, real), colour in COLOURS.items():
        here = pixels[(mask == drawn) & (truth == real)]
        assert (abs(here[:, :3] - colour) <= 2).all()  # the browser keeps colours multiplied by opacity
        assert (here[:, 3] > 0).all()
    assert (pixels[(mask == 0) & (truth == 0)] == 0).all()


def test_brightness_and_contrast_change_the_image_and_come_back(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("h")
    place = on_screen(page, 30, 48)
    page.wait_for_timeout(80)
    plain = page.evaluate(PIXEL, place)
    values = np.array(plain)
    for how, percent, wanted in (("brightness", 150, 1.5 * values), ("contrast", 50, 127.5 + (values - 127.5) / 2)):
        page.evaluate(SET, [how, percent])
        page.wait_for_timeout(80)
        assert np.allclose(page.evaluate(PIXEL, place), wanted.clip(0, 255), atol=3)
        page.evaluate("document.getElementById('plain-light').click()")
        page.wait_for_timeout(80)
        assert page.evaluate(PIXEL, place) == plain


def test_the_key_for_lesions_goes_through_them(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("b")
    page.click("#blank")
    for x, y, length in ((20, 20, 20), (70, 75, 3)):
        page.mouse.move(*on_screen(page, x, y))
        page.mouse.down()
        page.mouse.move(*on_screen(page, x + length, y), steps=3)
        page.mouse.up()
    scales = []
    for _ in range(3):
        page.keyboard.press("f")
        page.wait_for_timeout(60)
        scales.append(page.evaluate(VIEW))
    assert scales[1] > scales[0]  # the smaller one, nearer
    assert scales[2] == scales[0]  # and again


def test_of_a_lesion_that_fills_the_view_the_whole_image_is_shown(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("b")
    drawn_boxes(page, (0, 0, 90, 80), (2, 84, 40, 93))
    page.keyboard.press("0")
    page.wait_for_timeout(60)
    whole = page.evaluate(VIEW)
    page.keyboard.press("f")
    page.wait_for_timeout(60)
    assert page.evaluate(VIEW) == whole  # and neither smaller nor moved aside
    page.keyboard.press("f")
    page.wait_for_timeout(60)
    assert page.evaluate(VIEW) > whole  # the next one


def test_a_super_pixel_lights_up_under_the_pointer(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("h")
    with page.expect_response("**/superpixels*"):
        page.keyboard.press("p")
    page.mouse.move(*on_screen(page, 48, 48))
    page.wait_for_timeout(300)
    there = Look(page)
    page.mouse.move(1, 1)
    assert Look(page) - there > 50
    page.mouse.move(*on_screen(page, 20, 70))
    assert Look(page) - there > 50


def pixels_of(server: Server, source: str) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(server.get(source)[1])) as image:
        return np.asarray(image)


def test_the_grid_shows_masks_and_of_blind_images_none(visit: Callable[..., Any], server: Server, images: Path) -> None:
    page = visit()
    name = marked_image(page)
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    page.locator("#who").blur()
    page.keyboard.press("d")
    assert page.locator(".stage").is_hidden()
    mask = page.locator(f"#strip button:has-text('{name}') img.mask")
    page.wait_for_function("image => image.complete && image.naturalWidth", arg=mask.element_handle())
    shown = pixels_of(server, str(mask.get_attribute("src")))
    assert shown.shape == (96, 96, 4)
    assert 0 < (shown[..., 3] > 0).mean() < 1
    page.keyboard.press("a")  # nothing is decided about an image that is not to be seen
    page.locator(f"#strip button:has-text('{name}')").click()
    assert page.locator(".stage").is_visible()
    assert not (images / "reviewed" / f"{name}.json").exists()
    paint(page)
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    drawn = pixels_of(server, str(mask.get_attribute("src")))
    assert "reviewed?small=true&version=1" in str(mask.get_attribute("src"))
    assert (drawn[..., 3] > 0).sum() != (shown[..., 3] > 0).sum()
    page.click("#sample summary")
    page.fill("#count", "2")
    page.click("#draw")
    page.wait_for_function("() => document.querySelectorAll('#strip b').length === 2")
    page.wait_for_selector("#blind-note:visible")
    page.keyboard.press("d")
    assert page.locator("#strip img.mask:visible").count() == 0
    page.keyboard.press("Escape")
    assert page.locator(".stage").is_visible()


def test_epochs_count_from_one_as_in_the_report(visit: Callable[..., Any], server: Server) -> None:
    page = visit()
    page.click("#tab-runs")
    page.wait_for_selector(".growth figcaption")
    stored = sorted(int(one.name.removeprefix("epoch-")) for one in (server.run / "propagation").glob("epoch-*"))
    captions = page.locator(".growth").first.locator("figcaption").all_inner_texts()
    assert captions == [f"epoch {number + 1}" for number in stored]  # as report/propagation_figure.py says it
    chart = page.locator("#runs .charts figure:has-text('Coverage')").first
    chart.locator("svg").hover(position={"x": 3, "y": 40})
    (first, *_) = json.loads(server.get("/api/runs")[1])["runs"][0]["curves"]["pass/coverage"]["epochs"]
    assert chart.locator("figcaption span").inner_text().startswith(f"epoch {first + 1}:")
