"""Lesions counted one by one: was each found, and how many were invented."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from endotransfer.label_values import SMALLEST_LESION

MIN_PIXELS = SMALLEST_LESION
MIN_COVER = 0.1  # enough to draw the reader's eye to the lesion; how well it is outlined is the business of Dice

Mask = NDArray[np.bool_]


class LesionMatches(NamedTuple):
    """Counts of one image; they add up over images."""

    found: int
    lesions: int
    false_positives: int


def lesion_matches(
    prediction: Mask,
    truth: Mask,
    ignored: Mask | None = None,
    min_pixels: int = MIN_PIXELS,
    min_cover: float = MIN_COVER,
) -> LesionMatches:
    """Match the connected components (8 neighbours) of two masks [H, W].

    A true lesion is found when at least `min_cover` of its pixels are predicted.  A predicted component that
    touches no true pixel is a false positive.  Components under `min_pixels` count as neither,
    and `ignored` pixels do not count as pixels.  A mask that paints everything finds every lesion this way,
    so read it beside precision or Dice.
    """
    part = _around(prediction | truth)
    if part is None:
        return LesionMatches(0, 0, 0)
    prediction, truth = prediction[part], truth[part]  # lesions are small: most of the image is not looked at again
    counted = np.ones_like(truth, dtype=bool) if ignored is None else ~ignored[part]
    true_size, covered = _sizes(truth & counted, prediction, counted)
    predicted_size, touching = _sizes(prediction, truth, counted)
    lesion = true_size >= min_pixels
    found = lesion & (covered / true_size >= min_cover) & (covered > 0)
    invented = (predicted_size >= min_pixels) & (touching == 0)
    return LesionMatches(int(found.sum()), int(lesion.sum()), int(invented.sum()))


def _around(mask: Mask) -> tuple[slice, slice] | None:
    """The smallest rectangle with all that is marked; None where nothing is."""
    rows = np.flatnonzero(mask.any(1))
    if not rows.size:
        return None
    columns = np.flatnonzero(mask.any(0))
    return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)


def _sizes(mask: Mask, other: Mask, counted: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each component of `mask`: its counted pixels, and how many of those lie in `other`."""
    from endotransfer.metrics.compiled.component_sizes import component_sizes  # here, because numba is slow to import

    sizes = component_sizes(mask, other, counted)
    return sizes[:, 0], sizes[:, 1]
