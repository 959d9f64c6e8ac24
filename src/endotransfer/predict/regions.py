"""The marked regions of a mask, one by one: which class, where, how large, how sure."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from endotransfer.label_values import SMALLEST_LESION

Region = NDArray[np.bool_]
_EIGHT = np.ones((3, 3), int)  # neighbours that touch: as lesions are counted in evaluation


@dataclass(frozen=True)
class Lesion:
    """A connected region of one class."""

    label: int  # class index, from 1 on
    top: int
    left: int
    region: Region  # [h, w]: its pixels within its box
    confidence: float  # mean probability of its class over its pixels

    @property
    def box(self) -> tuple[int, int, int, int]:
        """x, y, width, height in pixels."""
        height, width = self.region.shape
        return self.left, self.top, width, height

    @cached_property
    def area(self) -> int:
        return int(self.region.sum())


def find_lesions(
    mask: NDArray[np.uint8], certainty: NDArray[np.float32], smallest: int = SMALLEST_LESION
) -> list[Lesion]:
    """Regions of `mask` [H, W] of at least `smallest` pixels, by class, the largest first."""
    top, left, part = _marked_part(mask)
    sure = certainty[top : top + part.shape[0], left : left + part.shape[1]]
    found = [lesion for label in np.unique(part[part > 0]) for lesion in _of_class(part, sure, int(label), smallest)]
    moved = [Lesion(one.label, one.top + top, one.left + left, one.region, one.confidence) for one in found]
    return sorted(moved, key=lambda one: (one.label, -one.area, one.top, one.left))


def _marked_part(mask: NDArray[np.uint8]) -> tuple[int, int, NDArray[np.uint8]]:
    """The smallest rectangle with everything that is marked: most of an image is not."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return 0, 0, mask[:0, :0]
    return int(rows[0]), int(columns[0]), mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _of_class(part: NDArray[np.uint8], sure: NDArray[np.float32], label: int, smallest: int) -> list[Lesion]:
    from scipy.ndimage import find_objects
    from scipy.ndimage import label as components_of  # here, because scipy.ndimage is slow to import

    components, number = components_of(part == label, structure=_EIGHT)
    flat = components.ravel()
    pixels = np.bincount(flat, minlength=number + 1)
    sums = np.bincount(flat, weights=sure.ravel(), minlength=number + 1)
    return [
        Lesion(label, rows.start, columns.start, components[rows, columns] == index, float(sums[index] / pixels[index]))
        for index, (rows, columns) in enumerate(find_objects(components), start=1)
        if pixels[index] >= smallest
    ]
