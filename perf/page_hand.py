"""A scripted person who draws a lesion in the viewer's page: pointer, keys and buttons, nothing else.

Where the pointer goes follows from the true mask, with a tremor; how far the drawing is, is read off the page.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_fill_holes, label
from skimage.measure import approximate_polygon, find_contours

from perf.scripted_expert import Area, dice, largest_error, next_click

TREMOR = 0.4  # deviation of the pointer, in pixels of the image
CONTENT = 0.95  # Dice from which the person leaves the drawing as it is
CLICKS, REGIONS, TOUCHES = 4, 8, 12  # at most
WAYS = ("Lasso", "Polygon", "Click", "Region")
SEEN = """async () => {
  const { state } = await import("/page/state.js");
  return [state.image.height, state.image.width, ...(state.image.draft ?? [])];
}"""
Line = NDArray[np.float64]  # [N, 2], x and y in pixels of the image


def outline(area: Area) -> Line:
    """Around one connected area without holes, between its pixels and those beside it."""
    found = max(find_contours(np.pad(area, 1).astype(float), 0.5), key=len)  # type: ignore[no-untyped-call]
    line: Line = found[:-1, ::-1] - 1.0
    return line


def parts(area: Area) -> list[Area]:
    found, count = label(area)
    return [found == number for number in range(1, count + 1)]


class Hand:
    """Draws on the image that is open, the whole of which is shown."""

    def __init__(self, page: Any, truth: Area, random: np.random.Generator) -> None:
        self.page, self.truth, self.random = page, truth, random
        box, (height, width) = page.locator("#canvas").bounding_box(), truth.shape
        self.scale = min(box["width"] / width, box["height"] / height)
        self.left = box["x"] + (box["width"] - self.scale * width) / 2
        self.top = box["y"] + (box["height"] - self.scale * height) / 2

    def draw(self, way: str) -> None:
        """The lesion from an empty mask, one way and with brush and eraser where that was not good enough."""
        self.take(way)
        self.page.click("#blank")
        {"Lasso": self.by_lasso, "Polygon": self.by_polygon, "Click": self.by_clicks, "Region": self.by_regions}[way]()
        for _ in range(TOUCHES):
            if dice(self.seen(), self.truth) >= CONTENT:
                break
            self.touch_up()

    def by_lasso(self) -> None:
        """Around each part; its holes are cut out with the right button."""
        for part in parts(self.truth):
            whole = binary_fill_holes(part)
            self.drag(self.unsteady(outline(whole)))
            for hole in parts(whole & ~part):
                self.drag(self.unsteady(outline(hole)), "right")

    def by_polygon(self) -> None:
        for part in parts(self.truth):
            corners = approximate_polygon(outline(binary_fill_holes(part)), 0.5)  # type: ignore[no-untyped-call]
            for x, y in self.unsteady(corners):
                self.page.mouse.click(*self.place(x, y))
            self.page.keyboard.press("Enter")

    def by_clicks(self) -> None:
        """A click into the middle of the largest error, again and again: on the lesion or, right button, beside it."""
        before: list[tuple[float, float]] = []
        for _ in range(CLICKS):
            point = next_click(self.seen(), self.truth)
            if point is None or any(np.hypot(point.x - x, point.y - y) < 2 for x, y in before):
                break
            before.append((point.x, point.y))
            with self.page.expect_response(lambda answer: answer.url.endswith("/segment")):
                self.press(point.x, point.y, "left" if point.positive else "right")
            self.page.wait_for_timeout(50)
        self.page.keyboard.press("Enter")

    def by_regions(self) -> None:
        """Super-pixels; one that made it worse is taken back."""
        self.page.select_option("#region-size", "small")
        self.page.locator("#region-size").blur()
        self.page.wait_for_timeout(500)
        for _ in range(REGIONS):
            before, point = self.seen(), next_click(self.seen(), self.truth)
            if point is None:
                return
            self.press(point.x, point.y, "left" if point.positive else "right")
            self.page.wait_for_timeout(60)
            if dice(self.seen(), self.truth) <= dice(before, self.truth):
                self.page.keyboard.press("z")
                return

    def touch_up(self) -> None:
        """The largest error: a dab of brush or eraser as wide as fits, or a line around it where that is too little."""
        error = largest_error(self.seen(), self.truth)
        if error is None:
            return
        region, depth = error
        row, column = np.unravel_index(int(depth.argmax()), self.truth.shape)
        missing, radius = bool(self.truth[row, column]), max(1, int(depth.max() - 0.5))
        if region.sum() > 4 * np.pi * radius**2:
            self.take("Lasso")
            self.drag(self.unsteady(outline(binary_fill_holes(region))), "left" if missing else "right")
            return
        self.take("Brush" if missing else "Erase")
        self.page.fill("#brush", str(radius))
        self.press(float(column), float(row))

    def take(self, tool: str) -> None:
        self.page.click(f"#tools label:has-text('{tool}')")

    def press(self, x: float, y: float, button: str = "left") -> None:
        self.page.mouse.click(*self.place(x, y), button=button)

    def drag(self, line: Line, button: str = "left") -> None:
        self.page.mouse.move(*self.place(*line[0]))
        self.page.mouse.down(button=button)
        for x, y in line[1:]:
            self.page.mouse.move(*self.place(x, y))
        self.page.mouse.up(button=button)

    def unsteady(self, line: Line) -> Line:
        """The line as a hand follows it, within the image."""
        moved: Line = line + self.random.normal(0, TREMOR, line.shape)
        return moved.clip(-0.4, np.array(self.truth.shape[::-1]) - 0.6)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a pixel of the image is on the screen."""
        return self.left + (x + 0.5) * self.scale, self.top + (y + 0.5) * self.scale

    def seen(self) -> Area:
        """The drawing as the page shows it."""
        height, width, *values = self.page.evaluate(SEEN)
        drawn = np.array(values or [0] * (height * width), np.uint8).reshape(height, width)
        area: Area = drawn == 1
        return area
