"""Everything found in one image, its mask and its row; faults are collected instead of raised.

`data inspect` takes the files of a folder, `data import` those that it is about to write: both come here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import Fault, FaultError, Note, failure
from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.data.folders.pairs import check_tag, other_size
from endotransfer.data.folders.read_folder import to_sample
from endotransfer.data.inspect.frames import Frame, measure_frame
from endotransfer.data.inspect.mask_look import MaskLook, is_copy_of, look_at_mask, suspicions
from endotransfer.data.inspect.prints import Prints, take_prints
from endotransfer.data.read.decode import decode
from endotransfer.data.read.read_image import ImageReading, read_image_and_notes
from endotransfer.data.read.read_mask import MaskReading, convert_mask, read_mask


@dataclass
class Reading:
    """One entry after looking at its pixels; `prints` and `frame` are None for an unreadable image."""

    entry: FolderEntry
    size: tuple[int, int] = (0, 0)
    format: str = ""
    prints: Prints | None = None
    frame: Frame | None = None
    mask: MaskLook | None = None
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def survey(entry: FolderEntry, classes: Classes) -> Reading:
    """Read image and mask of `entry`."""
    reading = Reading(entry)
    _collect(reading, lambda: take_image(reading, read_image_and_notes(entry.image)))
    if entry.mask is not None:
        mask = entry.mask
        _collect(reading, lambda: take_mask(reading, _read(reading, classes, mask), classes))
    return reading


def take_image(reading: Reading, image: ImageReading) -> None:
    """Add what the image's pixels show."""
    path = reading.entry.image
    reading.size, reading.format = image.pixels.shape[:2], image.format
    reading.prints, reading.frame = take_prints(image.pixels), measure_frame(image.pixels)
    reading.notes += [Note("image-conversion", note, (str(path),)) for note in image.notes]
    if reading.prints.flat:
        what, fix = "shows nothing: all its pixels are nearly the same", "remove it if it is not meant"
        reading.faults.append(Fault("blank-image", str(path), what, fix, "warning"))


def take_mask(reading: Reading, converted: MaskReading, classes: Classes) -> None:
    """Add what the mask shows; one that does not fit its image or its tag raises."""
    sample, path = to_sample(reading.entry, ""), str(reading.entry.mask or reading.entry.image)
    reading.notes += [Note("mask-conversion", note, (path,)) for note in converted.notes]
    if reading.prints is not None and (wrong := other_size(sample, reading.size, _size(converted.mask))):
        raise wrong
    reading.mask = look_at_mask(converted.mask, len(classes), converted.notes)
    if classes.binary:
        reading.faults += suspicions(converted.mask, reading.mask, path)
    check_tag(sample, converted.mask)


def _read(reading: Reading, classes: Classes, path: Path) -> MaskReading:
    if classes.numbers:
        return read_mask(path, classes)
    decoded = decode(path)
    if reading.prints is not None and is_copy_of(decoded.image, reading.prints.thumbnail):
        raise failure("mask-is-image", path, "is the photograph itself, not a mask", "put the drawn mask there")
    return convert_mask(decoded, classes, path)


def _size(mask: NDArray[np.uint8]) -> tuple[int, int]:
    return mask.shape[0], mask.shape[1]


def _collect(reading: Reading, look: Callable[[], None]) -> None:
    try:
        look()
    except FaultError as error:
        assert error.fault is not None
        reading.faults.append(error.fault)
