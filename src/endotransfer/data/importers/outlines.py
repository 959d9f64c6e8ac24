"""COCO outlines as masks: polygons, and run lengths as a list or as COCO's compressed text."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from endotransfer.errors import DataError

Mask = NDArray[np.bool_]
Number = TypeVar("Number", np.float64, np.int64)
LONGEST_RUN = 60  # bits; no image has more pixels, and numbers without end would take all the time there is

# Run lengths are decoded here and not by pycocotools: its C code writes past its buffer on damaged counts (random text
# ends the process) and returns uninitialised memory where they are too short.  Tests compare with it on sound files.


def outline_mask(segmentation: object, size: tuple[int, int]) -> Mask:
    """The mask bool [H, W] of one annotation's `segmentation`."""
    if isinstance(segmentation, list) and segmentation:
        mask: Mask = np.logical_or.reduce([polygon_mask(polygon, size) for polygon in segmentation])
        return mask
    if isinstance(segmentation, dict) and "counts" in segmentation:
        counts = segmentation["counts"]
        return runs_mask(unpack_runs(counts) if isinstance(counts, str) else counts, size)
    raise DataError("an annotation has a box but no outline")


def polygon_mask(polygon: object, size: tuple[int, int]) -> Mask:
    """The pixels whose centre lies inside x0, y0, x1, y1, ...; pixel 0 reaches from 0 to 1."""
    from skimage.draw import polygon as pixels_inside  # slow to import, and only this format needs it

    if not isinstance(polygon, list) or len(polygon) < 6 or len(polygon) % 2:
        raise DataError("an annotation's polygon is no list of three or more x, y pairs")
    x, y = _numbers(polygon, np.float64).reshape(-1, 2).T
    mask = np.zeros(size, bool)
    mask[pixels_inside(y - 0.5, x - 0.5, size)] = True  # type: ignore[no-untyped-call]
    return mask


def runs_mask(counts: Sequence[int], size: tuple[int, int]) -> Mask:
    """Run lengths of 0, 1, 0, ... down the columns."""
    runs = _numbers(counts, np.int64)
    if (runs < 0).any() or runs.sum() != size[0] * size[1]:
        raise DataError(f"an annotation's run lengths do not add up to {size[1]}x{size[0]} pixels")
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs).reshape(size[1], size[0]).T


def unpack_runs(text: str) -> list[int]:
    """COCO's compressed text: groups of five bits, lowest first, in characters from '0' on.

    A sixth bit says that the number goes on; the top bit of its last group is the sign.  From the fourth
    number on, what is stored is the difference to the number two before.
    """
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - ord("0")
        value |= (bits & 0b11111) << shift
        shift += 5
        if shift > LONGEST_RUN:
            raise DataError("an annotation's run lengths are damaged: one of them has no end")
        if not bits & 0b100000:
            signed = value - (1 << shift) if bits & 0b10000 else value
            runs.append(signed + runs[-2] if len(runs) > 2 else signed)
            value = shift = 0
    return runs


def _numbers(values: object, dtype: type[Number]) -> NDArray[Number]:
    try:
        return np.array(values, dtype)
    except (TypeError, ValueError, OverflowError) as reason:
        raise DataError("an annotation's outline holds values that are not numbers") from reason
