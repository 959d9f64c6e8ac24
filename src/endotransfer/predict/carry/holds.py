"""When a mask that is carried from frame to frame no longer holds.  The first rule that fails ends it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from endotransfer.predict.carry.optical_flow import Flow, Grey, grid, sample

Ending = Literal["cut", "lost", "changed", "area", "end", "decided", "limit"]
Area = NDArray[np.bool_]


@dataclass(frozen=True)
class Rules:
    """The thresholds, on frames whose longer side is `side` pixels and whose values lie in [0, 1]."""

    side: int = 192
    cut: float = 0.5  # least correlation of a frame with the one before, moved: below it the scene has changed
    strays: float = 1.0  # pixels between a place and where flow there and back leads
    consistent: float = 0.6  # least share of the mask that does not stray
    appearance: float = 0.6  # change of the colour against the surround, over that colour at the start
    faint: float = 0.03  # a contrast below counts as this one
    texture: float = 0.4  # least correlation between mask and surround now and at the start
    smallest: float = 0.4  # area over that at the start
    largest: float = 2.5
    step: float = 1.3  # change of the area from one frame to the next, up or down
    longest: int = 250  # frames in one direction


@dataclass(frozen=True)
class FrameView:
    """A frame as the rules see it: `colours` [h, w, 3], `grey` [h, w], the `mask` [h, w] in it."""

    colours: NDArray[np.float32]
    grey: Grey
    mask: Area


def scene_cut(now: Grey, moved: Grey, rules: Rules) -> bool:
    """`moved`: the frame before, as the flow makes it look now."""
    return correlation(now, moved) < rules.cut


def lost(mask: Area, back: Flow, forth: Flow, rules: Rules) -> bool:
    """Forward-backward consistency: x + back(x), then + forth there, must lead to x again.

    `back`, `forth` [2, h, w]: flow from this frame to the one before, and the other way.
    """
    there = grid(*mask.shape) + back
    returned = back + np.stack([sample(axis, there) for axis in forth])
    strays = np.hypot(*returned)[mask]
    allowed = rules.strays + 0.1 * np.hypot(*back)[mask]
    return bool((strays <= allowed).mean() < rules.consistent)


def looks_different(start: FrameView, now: FrameView, moved: Grey, rules: Rules) -> bool:
    """Colour against the surround, and texture of mask and surround, compared with the start.

    `moved`: the start's grey values, carried along as the mask was.
    """
    first, present = contrast(start), contrast(now)
    size = max(float(np.linalg.norm(first)), rules.faint)
    if float(np.linalg.norm(present - first)) > rules.appearance * size:
        return True
    around = now.mask | surround(now.mask)
    return correlation(moved[around], now.grey[around]) < rules.texture


def area_jumps(start: float, before: float, now: float, rules: Rules) -> bool:
    """Areas in pixels, at the start, in the frame before and now."""
    if now < 1 or not rules.smallest <= now / start <= rules.largest:
        return True
    return not 1 / rules.step <= now / before <= rules.step


def contrast(view: FrameView) -> NDArray[np.float32]:
    """Mean colour [3] of the mask less that of its surround."""
    ring = surround(view.mask)
    inside: NDArray[np.float32] = view.colours[view.mask].mean(0)
    return inside - view.colours[ring].mean(0) if ring.any() else inside


def surround(mask: Area) -> Area:
    """The pixels around a mask, about as many as it has itself."""
    distance = distance_transform_edt(~mask)
    width = max(2.0, 0.23 * float(np.sqrt(mask.sum())))
    found: Area = (distance > 0) & (distance <= width)
    return found


def correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Pearson's; 1 where either is too even to say anything."""
    a, b = one - one.mean(), other - other.mean()
    size = float(np.sqrt((a * a).mean() * (b * b).mean()))
    return 1.0 if size < 1e-4 else float((a * b).mean()) / size
