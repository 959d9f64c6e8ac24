"""Where a mask comes from: a file, several files laid over each other, or none, for normal images."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import Classes
from endotransfer.data.importers.records import BINARY, MaskMaker
from endotransfer.data.read.read_mask import MaskReading, read_mask
from endotransfer.errors import DataError


def from_file(path: Path, classes: tuple[str, ...] = BINARY) -> MaskMaker:
    """The mask in a file, made clean by the rules of `endotransfer.data.read.read_mask`."""
    return lambda size: read_mask(path, Classes(classes))


def empty(size: tuple[int, int]) -> MaskReading:
    """The mask of an image that the set calls normal."""
    return MaskReading(np.zeros(size, np.uint8), ("an empty mask was written for a normal image",))


def layered(layers: Sequence[tuple[int, Path]]) -> MaskMaker:
    """Binary mask files laid over each other: a lesion pixel of a file becomes its class index."""
    return lambda size: paint(size, [(index, read_mask(path, Classes())) for index, path in layers])


def paint(size: tuple[int, int], layers: Sequence[tuple[int, MaskReading]]) -> MaskReading:
    """One index mask from binary ones; where classes overlap the later layer counts, and that is said."""
    mask = np.zeros(size, np.uint8)
    notes = [note for _, reading in layers for note in reading.notes]
    overlap = False
    for index, reading in layers:
        require_size(reading.mask, size)
        painted = reading.mask == 1
        overlap |= bool(np.any(painted & (mask != 0) & (mask != index)))
        mask[painted] = index
    notes += ["several masks were merged into one"] if len(layers) > 1 else []
    notes += ["where classes overlap, the later one was kept"] if overlap else []
    return MaskReading(mask, tuple(dict.fromkeys(notes)))


def require_size(mask: NDArray[np.uint8], size: tuple[int, int]) -> None:
    """Refuse a mask of another size than its image: stretching it to fit would hide a mix-up."""
    if mask.shape != size:
        found, wanted = (f"{width}x{height}" for height, width in (mask.shape, size))
        raise DataError(f"the mask is {found} pixels but the image is {wanted}")
