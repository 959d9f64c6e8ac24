"""What tidies a drawing up, in the browser, against its twin in SciPy or pixel by pixel."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

WIDTH, HEIGHT = 31, 23
CALL = """async ([how, labels, ...more]) => {
  const shapes = await import("/page/shapes.js");
  const values = Uint8Array.from(labels);
  return [...(shapes[how](values, 31, 23, ...more) ?? values)];
}"""
Mask = NDArray[np.uint8]


@pytest.fixture
def drawn() -> Mask:
    """Class 1 in clumps with holes, some of class 2 and some pixels left open."""
    random = np.random.default_rng(3)
    mask: Mask = (ndimage.gaussian_filter(random.normal(size=(HEIGHT, WIDTH)), 1.3) > 0).astype(np.uint8)
    mask[random.random(mask.shape) < 0.05], mask[:3, :3] = 2, 255
    return mask


def called(page: Any, how: str, mask: Mask, *more: object) -> Mask:
    return np.array(page.evaluate(CALL, [how, mask.ravel().tolist(), *more]), np.uint8).reshape(HEIGHT, WIDTH)


def smooth(mask: Mask, value: int, radius: int) -> Mask:
    """Pixel by pixel: the mean over rows, then over columns, each within the image."""
    share = (mask == value).astype(np.float64)
    for _ in range(2):
        share = np.array(
            [[row[max(0, x - radius) : x + radius + 1].mean() for x in range(len(row))] for row in share]
        ).T
    out = mask.copy()
    out[(mask == 0) & (share > 0.5)], out[(mask == value) & (share < 0.5)] = value, 0
    return out


def test_they_are_what_their_twins_say(visit: Callable[..., Any], drawn: Mask) -> None:
    page, lesion = visit(), drawn == 1
    grown = np.where((drawn == 0) & ndimage.binary_dilation(lesion), 1, drawn)
    assert (called(page, "grow", drawn, 1) == grown).all()
    shrunk = np.where(lesion & ~ndimage.binary_erosion(lesion, border_value=1), 0, drawn)
    assert (called(page, "shrink", drawn, 1) == shrunk).all()
    filled = np.where((drawn == 0) & ndimage.binary_fill_holes(lesion), 1, drawn)
    assert (filled != drawn).any()
    assert (called(page, "fillHoles", drawn, 1) == filled).all()
    for radius in (1, 3):
        differing = called(page, "smooth", drawn, 1, radius) != smooth(drawn, 1, radius)
        assert differing.sum() <= 1  # a mean of one half, to the last bit
    corners = [(2.2, 3.1), (25.4, 5.3), (12.6, 20.7), (13.1, 9.2)]
    points = [{"x": x, "y": y} for x, y in corners]
    polygon = called(page, "fillPolygon", np.zeros_like(drawn), points, 1)
    inside = [[_within(corners, x, y) for x in range(WIDTH)] for y in range(HEIGHT)]
    assert (polygon == np.array(inside)).all()


def _within(corners: list[tuple[float, float]], x: float, y: float) -> bool:
    """Even-odd: how many edges a ray to the right crosses."""
    crossed = False
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (ay <= y) != (by <= y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            crossed = not crossed
    return crossed
