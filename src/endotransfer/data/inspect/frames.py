"""Black frames and burnt-in overlays around the tissue.  Heuristics: hints, not certainties."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

VIEW = 256  # overlays are looked for at about this short side, so that strokes have a known width
_DARK = 32  # brightest channel of a frame's black; video black is rarely zero
_BLOCK = 4
_WHITE = 110  # darkest channel of a letter
_MIN_LETTERS = 6  # blocks
_BOX_SHARE = 0.005
_CONSTANT_SHARE = 0.9  # a pixel that stays the same in this share of images belongs to no patient
_SAME = 6  # grey values

Extreme = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.uint8]]


@dataclass(frozen=True)
class Frame:
    """What surrounds the tissue of one image."""

    box: tuple[float, float, float, float]  # top, left, bottom, right of what is not black, as shares of the image
    dark_corners: int
    text: bool
    coloured_box: bool

    @property
    def dark_frame(self) -> bool:
        top, left, bottom, right = self.box
        return (bottom - top) * (right - left) < 0.95


class FrameSummary(TypedDict, total=False):
    """Shares of images (0 to 1) with each kind of frame or overlay; empty where there are no images."""

    dark_frame: float
    dark_corners: float
    typical_box: dict[str, float]
    text_in_frame: float
    coloured_box: float
    constant_pixels: float


def measure_frame(pixels: NDArray[np.uint8]) -> Frame:
    """Black frame, letters in it, and coloured boxes of an image [H, W, 3]."""
    factor = max(1, min(pixels.shape[:2]) // VIEW)
    view = np.asarray(Image.fromarray(pixels).reduce(factor)) if factor > 1 else pixels
    dark = channels(np.maximum, view) <= _DARK
    return Frame(_content_box(dark), _dark_corners(dark), _has_letters(view), _has_coloured_box(view))


def _content_box(dark: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    """Rows and columns that are more than a tenth bright: a line of text does not make a column tissue."""
    rows = np.flatnonzero((~dark).mean(axis=1) > 0.1)
    columns = np.flatnonzero((~dark).mean(axis=0) > 0.1)
    if not rows.size or not columns.size:
        return 0.0, 0.0, 0.0, 0.0
    height, width = dark.shape
    return rows[0] / height, columns[0] / width, (rows[-1] + 1) / height, (columns[-1] + 1) / width


def _dark_corners(dark: NDArray[np.bool_]) -> int:
    h, w = (max(1, side // 16) for side in dark.shape)
    corners = (dark[:h, :w], dark[:h, -w:], dark[-h:, :w], dark[-h:, -w:])
    return sum(bool(corner.mean() > 0.9) for corner in corners)


def _has_letters(view: NDArray[np.uint8]) -> bool:
    """White strokes with black between them, in the black that touches the image's edge, away from tissue."""
    darkest = _blocks(np.minimum, channels(np.maximum, view))
    whitest = _blocks(np.maximum, channels(np.minimum, view))
    if not darkest.size:
        return False
    black = ~ndimage.binary_dilation(darkest > _DARK, iterations=2)
    edge = np.ones_like(black)
    edge[1:-1, 1:-1] = False
    frame = ndimage.binary_propagation(black & edge, mask=black)
    return int((frame & (whitest > _WHITE)).sum()) >= _MIN_LETTERS


def channels(extreme: Extreme, view: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The largest or smallest channel, [H, W, 3] -> [H, W]; ten times faster than reducing so short an axis."""
    return extreme(extreme(view[..., 0], view[..., 1]), view[..., 2])


def _blocks(extreme: Extreme, plane: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The extreme of each block, [H, W] -> [H/4, W/4]; an incomplete last row and column is left out."""
    h, w = (side // _BLOCK * _BLOCK for side in plane.shape)
    rows = reduce(extreme, (plane[i:h:_BLOCK, :w] for i in range(_BLOCK)))
    return reduce(extreme, (rows[:, i::_BLOCK] for i in range(_BLOCK)))


def _has_coloured_box(view: NDArray[np.uint8]) -> bool:
    """One even patch of green or blue that fills its rectangle: tissue is neither so cold nor so even."""
    red, cold = view[..., 0].astype(np.int16), np.maximum(view[..., 1], view[..., 2]).astype(np.int16)
    painted = (cold - red > 60) & (cold > 90)
    painted[:, 1:] &= np.abs(np.diff(cold, axis=1)) <= _SAME
    painted[1:] &= np.abs(np.diff(cold, axis=0)) <= _SAME
    if painted.mean() < _BOX_SHARE:
        return False
    label, _ = ndimage.label(painted)
    largest = int(np.argmax(np.bincount(label.ravel())[1:])) + 1
    rows, columns = ndimage.find_objects(label)[largest - 1]
    patch = label[rows, columns] == largest
    return bool(patch.sum() >= _BOX_SHARE * painted.size and patch.mean() > 0.7)


def constant_share(thumbnails: Sequence[NDArray[np.uint8]]) -> float:
    """Share of the picture that is bright and the same in nearly all images; 0 with too few to tell."""
    if len(thumbnails) < 20:
        return 0.0
    chosen = np.linspace(0, len(thumbnails) - 1, min(len(thumbnails), 400)).astype(int)
    stack = np.stack([thumbnails[i] for i in chosen]).astype(np.int16)
    middle = np.median(stack, axis=0)
    same = (np.abs(stack - middle).max(axis=3) <= _SAME).mean(axis=0) >= _CONSTANT_SHARE
    return float((same & (middle.max(axis=2) > _DARK)).mean())


def summarise_frames(frames: Sequence[Frame], thumbnails: Sequence[NDArray[np.uint8]]) -> FrameSummary:
    """Shares of images (0 to 1) and the median content box."""
    if not frames:
        return {}
    box = np.median([frame.box for frame in frames], axis=0)
    return {
        "dark_frame": float(np.mean([frame.dark_frame for frame in frames])),
        "dark_corners": float(np.mean([frame.dark_corners >= 2 for frame in frames])),
        "typical_box": dict(zip(("top", "left", "bottom", "right"), map(float, box), strict=True)),
        "text_in_frame": float(np.mean([frame.text for frame in frames])),
        "coloured_box": float(np.mean([frame.coloured_box for frame in frames])),
        "constant_pixels": constant_share(thumbnails),
    }
