"""What the browser tests of the viewer share: looks at the canvas, waiting for an image, a stroke of the brush."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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


class Look:
    """What the canvas shows at this moment; `-` counts the pixels that differ."""

    def __init__(self, page: Any) -> None:
        page.wait_for_timeout(80)
        self.page, self.place = page, page.evaluate(LOOK)

    def __sub__(self, other: "Look") -> int:
        return int(self.page.evaluate(DIFFER, [self.place, other.place]))


def settled(page: Any, name: str) -> None:
    """Wait until the image called `name` is open and drawn."""
    page.wait_for_function("name => document.getElementById('canvas').ariaLabel.startsWith(name)", arg=name)
    page.wait_for_function("() => document.getElementById('busy').hidden")
    page.wait_for_timeout(80)


def unfold(page: Any) -> None:
    """Open the parts of the panel that a small screen begins with folded, as a person does who needs them."""
    for held in ("#threshold", "#left"):
        folded = page.locator(f".controls > details:not([open]):has({held}) > summary")
        if folded.is_visible():
            folded.click()


def title(page: Any) -> str:
    return str(page.inner_text("#title").split()[0])


def marked_image(page: Any) -> str:
    """Open the image with the largest lesion and make sure that a mask is drawn; returns its name."""
    page.wait_for_function("() => document.getElementById('survey').hidden")
    page.select_option("#order", "area")
    page.wait_for_timeout(300)
    first = page.locator("#strip button").first
    name = first.locator("b").inner_text()
    first.click()
    settled(page, name)
    return str(name)


def paint(page: Any, tool: str = "Brush") -> None:
    page.click(f"#tools label:has-text('{tool}')")
    box = page.locator("#canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 60, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=6)
    page.mouse.up()
    page.wait_for_timeout(100)


def on_screen(page: Any, x: float, y: float, side: int = 96) -> tuple[float, float]:
    """Where a pixel of the image is, while the whole image (a square) is shown."""
    box = page.locator("#canvas").bounding_box()
    scale = min(box["width"], box["height"]) / side
    left, top = (box["width"] - scale * side) / 2, (box["height"] - scale * side) / 2
    return box["x"] + left + (x + 0.5) * scale, box["y"] + top + (y + 0.5) * scale


DRAFT = "async () => { const { state } = await import('/page/state.js'); return [...(state.image.draft ?? [])]; }"


def draft(page: Any) -> NDArray[np.uint8]:
    """The drawing [96, 96]; empty where there is none."""
    values = np.array(page.evaluate(DRAFT), np.uint8)
    return values.reshape(96, 96) if values.size else values


AT = "async () => { const { pointer } = await import('/page/stage.js'); return [pointer.x, pointer.y]; }"


def put_cursor(page: Any, x: int, y: int) -> None:
    """Move the keyboard's cursor to a pixel, by its keys."""
    at = page.evaluate(AT)
    for key, steps in (
        ("ArrowRight", x - at[0]), ("ArrowLeft", at[0] - x), ("ArrowDown", y - at[1]), ("ArrowUp", at[1] - y),
    ):  # fmt: skip
        for _ in range(round(steps)):
            page.keyboard.press(f"Shift+{key}")
    assert page.evaluate(AT) == [x, y]


BOXES = """async (boxes) => {
  const { replaceDraft } = await import('/page/drafts.js');
  const { state } = await import('/page/state.js');
  state.image.draft?.fill(0);
  replaceDraft((draft) => draft.map((_, at) => Number(boxes.some(([left, top, right, bottom]) =>
    at % 96 >= left && at % 96 <= right && at / 96 >= top && at / 96 < bottom + 1))));
  Object.assign(state.image, { past: [], future: [] });
}"""


def drawn_boxes(page: Any, *boxes: tuple[int, int, int, int]) -> NDArray[np.uint8]:
    """A drawing of boxes (left, top, right, bottom), as if a person had drawn them; nothing to undo yet."""
    page.evaluate(BOXES, boxes)
    return draft(page)


def review_first_of_batch(page: Any) -> str:
    """Follow the first link, save a stroke, come back."""
    link = page.locator("#batch-list a").first
    name = str(link.inner_text())
    link.click()
    page.wait_for_selector("#images:visible")
    assert page.locator("#learn").is_hidden()
    settled(page, name)
    page.fill("#who", "Ada")
    paint(page)
    page.click("#save:enabled")
    page.wait_for_selector("#save:disabled")
    page.click("#tab-learn")
    return name
