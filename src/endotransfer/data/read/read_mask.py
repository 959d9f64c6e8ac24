"""Read any mask file as class indices.  Every change of values is stated in the notes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.data.read.decode import LOSSY, Decoded, decode
from endotransfer.data.read.mask_channels import single_channel
from endotransfer.data.read.published_labels import read_published_labels
from endotransfer.label_values import IGNORE

_SMALL = 31  # values up to here look like class numbers, not like grey
_NEAR = 20  # a compressed black or white area strays by so many grey values
_DRAWN_SHARE = 0.02  # one grey value on this share of the pixels was drawn on purpose; noise spreads over many
_SOFT_SHARE = 0.15  # more in-between grey than this is a soft map, not the edge of a mask


@dataclass(frozen=True)
class MaskReading:
    """A mask of class indices, and one sentence for each conversion."""

    mask: NDArray[np.uint8]  # [H, W]: class index, or IGNORE
    notes: tuple[str, ...]


def read_mask(path: Path, classes: Classes) -> MaskReading:
    """The upright mask in `path` as indices into `classes.names`."""
    if classes.numbers is not None:
        return MaskReading(read_published_labels(path, classes.numbers), ())
    return convert_mask(decode(path), classes, path)


def convert_mask(decoded: Decoded, classes: Classes, path: Path) -> MaskReading:
    """`read_mask` for a decoded file; `path` is for messages only."""
    check_mask_format(decoded.format, classes, path)
    values, notes = single_channel(decoded, classes.binary, path)
    if decoded.rotated:
        notes.insert(0, "the EXIF rotation was applied")
    histogram = np.bincount(values.ravel(), minlength=256)
    ignored = values == classes.ignore if classes.keeps_ignore else None
    if ignored is not None:
        histogram[classes.ignore] = 0
    if classes.binary:
        lesion_from, note = _binary_threshold(histogram, path)
        mask = (values >= lesion_from).astype(np.uint8)
        notes += [note] if note else []
    else:
        _check_indices(histogram, classes, path)
        mask = values.astype(np.uint8)
    if ignored is not None and ignored.any():
        mask[ignored] = IGNORE
        if classes.ignore != IGNORE:
            notes.append(f"the value {classes.ignore} was read as unlabelled")
    return MaskReading(mask, tuple(notes))


def check_mask_format(format: str, classes: Classes, path: Path) -> None:
    """Class numbers do not survive lossy compression; two far-apart greys do."""
    if format in LOSSY and not classes.binary:
        what = f"is a {format} file, which cannot hold class numbers exactly"
        raise failure("lossy-mask", path, what, "export the mask as PNG")


def _check_indices(histogram: NDArray[np.int64], classes: Classes, path: Path) -> None:
    unknown = np.flatnonzero(histogram[len(classes) :]) + len(classes)
    if unknown.size:
        known = ", ".join(f"{index} {name}" for index, name in enumerate(classes.names))
        what = f"holds the value {unknown[0]}, which is no class (known: {known}; ignore {classes.ignore})"
        raise failure("unknown-value", path, what, "redraw the mask, or name the class in classes.yaml")


def _binary_threshold(histogram: NDArray[np.int64], path: Path) -> tuple[int, str]:
    """(value from which a pixel is lesion, note), from the histogram of the mask's values."""
    present = np.flatnonzero(histogram)
    if present.size == 0 or present[-1] <= 1:
        return 1, ""
    if _like_class_numbers(present):
        raise _several_classes(path, present)
    if set(present) <= {0, 255}:
        return 255, "0 / 255 was read as normal / lesion"
    if present.size <= 2 and present[0] == 0:
        return int(present[-1]), f"0 / {present[-1]} was read as normal / lesion"
    if not _like_noise(histogram):
        raise _several_classes(path, present)
    return 128, "grey noise around 0 and 255 was cut at half"


def _like_class_numbers(present: NDArray[np.intp]) -> bool:
    """Small integers, with or without 255 beside them: 0, 1, 2 or 1, 255, where merging would be a guess."""
    small = present[present != 255]
    return bool(small.size and 0 < small[-1] <= _SMALL)


def _like_noise(histogram: NDArray[np.int64]) -> bool:
    """Nearly all pixels close to 0 or 255, and no in-between value drawn on purpose."""
    between = histogram[_NEAR + 1 : 255 - _NEAR] / histogram.sum()
    return bool(between.sum() <= _SOFT_SHARE and between.max() <= _DRAWN_SHARE)


def _several_classes(path: Path, present: NDArray[np.intp]) -> FaultError:
    shown = ", ".join(map(str, present[:6])) + (", ..." if present.size > 6 else "")
    what = f"holds the values {shown}, which are not just normal and lesion"
    fix = "name the classes (and `ignore: 255` for unlabelled pixels) in classes.yaml, or save it as 0 and 255"
    return failure("several-values", path, what, fix)
