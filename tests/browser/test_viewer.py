"""The viewer in a real browser, used as a person uses it; every file it writes is looked for on disk."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.phantom import write_phantom
from endotransfer.data.reviewed import read_review, read_reviewed_mask
from tests.conftest import MakeExperiment
from tests.served import Server, serving, train_two

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("ENDOTRANSFER_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; install one or set ENDOTRANSFER_CHROMIUM")

# What the canvas shows now is kept in the page; only comparisons travel.
LOOK = """() => {
  const canvas = document.getElementById("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  window.looks = [...(window.looks ?? []), new Uint32Array(data.buffer)];
  return window.looks.length - 1;
}"""
DIFFER = """([one, other]) => {
  const [a, b] = [window.looks[one], window.looks[other]];
  return a.length === b.length ? a.reduce((sum, value, i) => sum + (value !== b[i]), 0) : 1e9;
}"""
REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)"
OURS = "willReadFrequently"  # a hint that the browser gives to the test, which reads the canvas


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("looked-at")
    write_phantom(root, 6, seed=2, size=96, processes=1)
    return root / "capsule"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment, images: Path
) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("viewer")
    with serving(train_two(root, make_experiment), images, root / "home") as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as tools:
        chromium = tools.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any, server: Server, images: Path) -> Iterator[Callable[..., Any]]:
    """`visit(width=..., scheme=...)`: a page that is ready.  Afterwards: nothing was said, nobody else was asked."""
    contexts, said, asked = [], list[str](), list[str]()

    def open_page(width: int = 1280, scheme: str = "light", path: str = "") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, has_touch=width < 500)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address + path)
        page.wait_for_selector("html[data-ready]")
        return page

    open_page.expected = []  # type: ignore[attr-defined]
    yield open_page
    for context in contexts:
        context.close()
    shutil.rmtree(images / "reviewed", ignore_errors=True)
    assert [text for text in said if OURS not in text] == open_page.expected  # type: ignore[attr-defined]
    assert [url for url in asked if not url.startswith((server.address, "blob:", "data:"))] == []


def settled(page: Any, name: str) -> None:
    """Wait until the image called `name` is open and drawn."""
    page.wait_for_function("name => document.getElementById('canvas').ariaLabel.startsWith(name)", arg=name)
    page.wait_for_function("() => document.getElementById('busy').hidden")
    page.wait_for_timeout(80)


class Look:
    """What the canvas shows at this moment; `-` counts the pixels that differ."""

    def __init__(self, page: Any) -> None:
        page.wait_for_timeout(80)
        self.page, self.place = page, page.evaluate(LOOK)

    def __sub__(self, other: "Look") -> int:
        return int(self.page.evaluate(DIFFER, [self.place, other.place]))


def title(page: Any) -> str:
    return page.inner_text("#title").split()[0]


def marked_image(page: Any) -> str:
    """Open the image with the largest lesion and make sure that a mask is drawn; returns its name."""
    page.wait_for_function("() => document.getElementById('survey').hidden")
    page.select_option("#order", "area")
    page.wait_for_timeout(300)
    first = page.locator("#strip button").first
    name = first.locator("b").inner_text()
    first.click()
    settled(page, name)
    return name


def test_the_slider_changes_the_mask_at_once(visit: Callable[..., Any]) -> None:
    page = visit()
    marked_image(page)
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
    filled = Look(page)
    for change in (
        lambda: page.check("input[value=outline]", force=True),
        lambda: page.check("input[value=heat]", force=True),
        lambda: page.locator("#opacity").fill("90"),
        lambda: page.keyboard.press("h"),
    ):
        change()
        now = Look(page)
        assert now - filled > 50
        filled = now
    plain = filled
    page.keyboard.press("h")
    page.check("input[value=fill]", force=True)
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


def paint(page: Any, tool: str = "Brush") -> None:
    page.click(f"#tools label:has-text('{tool}')")
    box = page.locator("#canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 60, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=6)
    page.mouse.up()
    page.wait_for_timeout(100)


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
    page.wait_for_selector("#verdict:has-text('Corrected by Ada Lovelace')")
    review, mask = read_review(images, name), read_reviewed_mask(images, name, 2)
    assert review is not None and mask is not None
    assert (review.decision, review.who, review.model) == ("corrected", "Ada Lovelace", None)
    assert mask.shape == (96, 96)
    assert set(np.unique(mask)) == {0, 1}
    assert mask[48, 48] == 1  # the stroke went through the middle,
    assert mask[48].sum() > mask[:, 48].sum()  # from left to right
    assert not mask[:20].any()
    assert {path.name: path.read_bytes() for path in (images / "masks").iterdir()} == masks
    page.select_option("#left", "reviewed")
    page.mouse.move(1, 1)
    assert Look(page) - drawn < 3000  # what was drawn is what is kept, but for the brush's ring


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
    page.wait_for_selector("#verdict:has-text('Corrected')")
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
    page.wait_for_selector("#verdict:has-text('Rejected by Grace')")
    page.click("#verdict button")
    page.wait_for_selector("#verdict:has-text('Not reviewed')")
    assert read_review(images, names[1]) is None


def test_a_random_sample_gives_an_iou_with_an_interval(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    page.fill("#who", "Grace")
    page.click("#sample summary")
    page.fill("#count", "3")
    page.click("#draw")
    page.wait_for_selector("#drawn:visible")
    assert (images / "reviewed" / "sample.yaml").exists()
    drawn = page.locator("#strip b").all_inner_texts()
    assert 1 <= len(drawn) <= 3
    for number, name in enumerate(drawn):
        settled(page, name)
        page.locator("#threshold").fill("0.02")
        page.locator("#threshold").blur()
        page.keyboard.press("a")
        page.wait_for_selector(f"#sample-note:has-text('{number + 1} of {len(drawn)}')")
    assert "%" in page.inner_text("#estimate") or "No lesion" in page.inner_text("#estimate")


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
    page.wait_for_function("() => document.querySelector('#strip b').textContent.startsWith('clip.webm')", timeout=30000)
    page.wait_for_function("() => document.getElementById('title').textContent.startsWith('clip.webm')", timeout=30000)
    assert page.locator("#strip b:has-text('clip.webm')").count() >= 2


def test_the_runs_tab_shows_curves_and_growing_labels(visit: Callable[..., Any]) -> None:
    page = visit()
    page.click("#tab-runs")
    page.wait_for_selector("#runs svg")
    titles = page.locator("#runs figcaption b").all_inner_texts()
    assert {"Coverage", "Portion asked for", "loss/net"} <= set(titles)
    page.evaluate("for (const i of document.querySelectorAll('.growth img')) i.loading = 'eager'")
    page.wait_for_function("() => [...document.querySelectorAll('.growth img')].every((i) => i.complete && i.naturalWidth > 0)")
    assert page.locator(".growth figure").count() >= 2
    assert page.locator("#images").is_hidden()
    page.locator("#runs svg").first.hover()
    assert "epoch" in page.locator("#runs .charts figcaption span").first.inner_text()
    page.focus("#tab-runs")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#images").is_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_tabs_fit_any_screen_and_theme(visit: Callable[..., Any], width: int, scheme: str) -> None:
    page = visit(width, scheme)
    for tab in ("images", "runs"):
        page.click(f"#tab-{tab}")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) > 384) == (scheme == "light")
    page.click("#theme")
    turned = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, turned[4:-1].split(","))) > 384) == (scheme == "dark")
    assert "not a medical device" in page.inner_text("footer")


def test_everything_has_a_name_and_enough_contrast(visit: Callable[..., Any]) -> None:
    page = visit()
    nameless = page.evaluate("""() => [...document.querySelectorAll("button, input, select, canvas, progress, [role=tab]")]
      .filter((node) => node.offsetParent && !(node.textContent.trim() || node.ariaLabel || node.labels?.length))
      .map((node) => node.outerHTML)""")
    assert nameless == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        faint = page.evaluate("""() => {
          const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
          const behind = (node) => {
            for (let at = node; at; at = at.parentElement) {
              const colour = getComputedStyle(at).backgroundColor;
              if (!/, 0\\)|transparent/.test(colour)) return colour;
            }
            return "rgb(255, 255, 255)";
          };
          return [...document.querySelectorAll("p, label, button, h1, h2, summary, td, th, small, b, output")]
            .filter((node) => node.offsetParent && !node.disabled && node.innerText.trim() && !node.closest(".side, .busy"))
            .map((node) => {
              const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
              return [((a + 0.05) / (b + 0.05)).toFixed(2), node.innerText.slice(0, 20)];
            }).filter(([ratio]) => ratio < 4.5);
        }""")
        assert faint == []


def test_help_lists_the_keys(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("a")  # inside a dialog a key is no command
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()
    assert page.inner_text("#messages") == ""
