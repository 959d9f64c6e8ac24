"""A person who corrects by rule, played from the truth: where to click next, or where to draw a stroke."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, label
from skimage.morphology import skeletonize

from endotransfer.predict.prompts.prompt import Point

Area = NDArray[np.bool_]
BRUSH = 0.8  # radius of the brush over that of the largest disc inside the error


def dice(one: Area, other: Area) -> float:
    return float(2 * (one & other).sum() / max(1, one.sum() + other.sum()))


def largest_error(mask: Area, truth: Area) -> tuple[Area, NDArray[np.float64]] | None:
    """The largest connected region on which both differ, and each pixel's distance to its edge; None: none differ."""
    parts, count = label(mask != truth)
    if not count:
        return None
    region = parts == 1 + int(np.bincount(parts.ravel())[1:].argmax())
    return region, distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]


def next_click(mask: Area, truth: Area) -> Point | None:
    """The point of the largest error that is farthest from its edge."""
    error = largest_error(mask, truth)
    if error is None:
        return None
    row, column = np.unravel_index(int(error[1].argmax()), truth.shape)
    return Point(float(column), float(row), bool(truth[row, column]))


def next_stroke(mask: Area, truth: Area) -> Area:
    """One stroke of a steady hand: along the skeleton of the largest error, with one disc that stays inside it.

    The disc has 0.8 of the radius of the largest that fits; the stroke goes as far from there as it still fits.
    """
    error = largest_error(mask, truth)
    if error is None:
        return mask
    region, depth = error
    widest = np.unravel_index(int(depth.argmax()), truth.shape)
    path = skeletonize(region)  # type: ignore[no-untyped-call]
    path &= depth >= BRUSH * depth[widest]
    path[widest] = True
    parts, _ = label(path, np.ones((3, 3)))
    stroke = distance_transform_edt(parts != parts[widest]) < BRUSH * depth[widest]
    return np.where(stroke, truth[widest], mask)


def correct(truth: Area, answer: Callable[[Area], Area | None], most: int) -> list[float]:
    """Dice after 1, 2, ... `most` actions from an empty mask; `answer`: the mask after the next, None where none is."""
    mask, found = np.zeros_like(truth), list[float]()
    for _ in range(most):
        after = answer(mask)
        mask = mask if after is None else after
        found.append(dice(mask, truth))
    return found


def actions_to(bound: float, scores: list[float]) -> int:
    """How many actions until Dice is `bound`; all that were allowed where it never is."""
    return next((count for count, score in enumerate(scores, 1) if score >= bound), len(scores))
