"""A mask, carried from the frame it was drawn on to those that follow, as long as it holds."""

from collections.abc import Generator, Iterable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.errors import DataError
from endotransfer.label_values import IGNORE
from endotransfer.predict.carry.holds import (
    Area,
    Ending,
    FrameView,
    Rules,
    area_jumps,
    looks_different,
    lost,
    scene_cut,
)
from endotransfer.predict.carry.optical_flow import Flow, Grey, fetch, flow_between, follow, grid, sample

Pixels = NDArray[np.uint8]
Carried = Generator[Pixels, None, Ending]
_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)
_BRIGHTNESS, _DARK = 0.4, 0.02  # the mean that every frame is brought to, and the least one that is


def carry_mask(start: Pixels, mask: Pixels, following: Iterable[Pixels], rules: Rules | None = None) -> Carried:
    """The mask [H, W] in each frame that follows; at its end, why there are no more.

    `start` and `following`: frames [., ., 3] of one size, any size.  For each frame, in this order:

    1. Dense optical flow to the frame before and back, on frames of at most `rules.side` pixels a side.
    2. It is a cut where the moved frame before differs from this one.
    3. Flows are composed, so that every pixel knows its place in the first frame; the mask is fetched from there
       once, and its edge stays as sharp as it was drawn.
    4. It ends where flow there and back disagrees, the area jumps or has left its bounds, or the mask no longer
       looks like its beginning against its surround (`holds.py`).

    Labels are carried as they are, IGNORE among them; the rules look at everything that is marked.
    """
    rules = rules or Rules()
    first = _view(start, _area(mask, _small_size(start, rules.side)))
    if not first.mask.any():
        raise DataError("nothing is marked in this frame that could be carried; mark the lesion first.")
    before, size = first, first.grey.shape
    places = grid(*size)
    for count, pixels in enumerate(following):
        if count == rules.longest:
            return "limit"
        view = _view(pixels, first.mask)
        back, forth = flow_between(view.grey, before.grey), flow_between(before.grey, view.grey)
        if scene_cut(view.grey, sample(before.grey, grid(*size) + back), rules):
            return "cut"
        places = follow(places, back)
        now = FrameView(view.colours, view.grey, _fetched(first.mask, places))
        ending = _ending(first, before, now, (back, forth), places, rules)
        if ending is not None:
            return ending
        yield fetch(mask, places)
        before = now
    return "end"


def _ending(
    first: FrameView, before: FrameView, now: FrameView, flows: tuple[Flow, Flow], places: Flow, rules: Rules
) -> Ending | None:
    start, last, present = (float(view.mask.sum()) for view in (first, before, now))
    if area_jumps(start, last, present, rules):
        return "area"
    if lost(now.mask, *flows, rules):
        return "lost"
    return "changed" if looks_different(first, now, sample(first.grey, places), rules) else None


def _view(pixels: Pixels, mask: Area) -> FrameView:
    height, width = mask.shape
    small = Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX)
    colours = np.asarray(small, np.float32) / np.float32(255)
    grey: Grey = (colours @ _WEIGHTS).astype(np.float32)
    grey *= np.float32(_BRIGHTNESS / max(float(grey.mean()), _DARK))  # the light of an endoscope comes and goes
    return FrameView(colours, grey, mask)


def _fetched(mask: Area, places: Flow) -> Area:
    return fetch(mask.astype(np.uint8), places) > 0


def _area(mask: Pixels, size: tuple[int, int]) -> Area:
    """What is marked, at the size of the rules."""
    marked = ((mask != 0) & (mask != IGNORE)).astype(np.uint8) * np.uint8(255)
    small = Image.fromarray(marked).resize((size[1], size[0]), Image.Resampling.BOX)
    found: Area = np.asarray(small) >= 128
    return found


def _small_size(pixels: Pixels, side: int) -> tuple[int, int]:
    height, width = pixels.shape[:2]
    scale = min(1.0, side / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))
