"""The image with its prediction drawn on it.  Cheap enough for a video: only the marked part is touched."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.class_colours import CLASS_COLOURS
from endotransfer.label_values import IGNORE

COLOURS = CLASS_COLOURS[1:]  # of the classes from 1 on, and from the start again after the last


def overlay(pixels: NDArray[np.uint8], mask: NDArray[np.uint8], opacity: float = 0.35) -> NDArray[np.uint8]:
    """The image with each class but 0 tinted and outlined; what nobody labelled stays as it is."""
    drawn = pixels.copy()
    rows, columns = _marked_part(mask)
    labels = mask[rows, columns]
    present = [value for value in np.flatnonzero(np.bincount(labels.ravel(), minlength=1)) if value not in (0, IGNORE)]
    if not present:
        return drawn
    # Pillow looks values up and pastes through a mask several times faster than numpy copies where something is true.
    part, edges = Image.fromarray(drawn[rows, columns]), borders(labels)
    for value in present:
        inside, colour = labels == value, (value - 1) % len(COLOURS)
        part.paste(part.point(_tints(opacity)[colour]), mask=_stencil(inside))
        part.paste(tuple(COLOURS[colour].tolist()), mask=_stencil(inside & edges))
    drawn[rows, columns] = np.asarray(part)
    return drawn


def _stencil(where: NDArray[np.bool_]) -> Image.Image:
    """A mask for Pillow: all or nothing."""
    return Image.fromarray(where.view(np.uint8) * np.uint8(255))


def borders(mask: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Pixels of `mask` [H, W] with a pixel of another value above, below, left or right of them."""
    found = np.zeros(mask.shape, bool)
    across, down = mask[:, 1:] != mask[:, :-1], mask[1:] != mask[:-1]
    found[:, 1:] |= across
    found[:, :-1] |= across
    found[1:] |= down
    found[:-1] |= down
    return found


def _marked_part(mask: NDArray[np.uint8]) -> tuple[slice, slice]:
    """The rectangle with everything that is not class 0, and a pixel around it, which borders need."""
    return _span(np.flatnonzero(mask.any(1))), _span(np.flatnonzero(mask.any(0)))


def _span(places: NDArray[np.intp]) -> slice:
    return slice(max(0, int(places[0]) - 1), int(places[-1]) + 2) if len(places) else slice(0, 0)


@lru_cache(maxsize=16)
def _tints(opacity: float) -> list[list[int]]:
    """[colour, 3 x 256]: what each value of red, green and blue becomes under each colour."""
    tinted = (1 - opacity) * np.arange(256) + opacity * COLOURS[:, :, None]
    table: list[list[int]] = tinted.astype(np.uint8).reshape(len(COLOURS), -1).tolist()
    return table
