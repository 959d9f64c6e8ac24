"""The numbers that describe a folder, as plain JSON values."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.data.inspect.duplicates import DuplicateCounts
from endotransfer.data.inspect.frames import FrameSummary, summarise_frames
from endotransfer.data.inspect.image_survey import Reading

_UNKNOWN = "unknown"


class Span(TypedDict):
    min: float
    median: float
    max: float


class Sizes(TypedDict, total=False):
    """Sizes in pixels, and how many different ones; empty where no image can be read."""

    height: Span
    width: Span
    aspect: Span
    distinct: int


class Fingerprint(TypedDict):
    """The numbers that describe a folder; counts unless they are called a share."""

    images: int
    readable: int
    classes: list[str]
    labelled_by: dict[str, int]
    sizes: Sizes
    formats: dict[str, int]
    tags_by_split: dict[str, dict[str, int]]
    findings: dict[str, int]
    patients: int
    clusters: int
    class_share: dict[str, float]
    lesion_area: dict[str, float]
    mask_conversions: dict[str, int]
    frames: FrameSummary
    overlays_by_tag: dict[str, dict[str, float]]
    duplicates: NotRequired[DuplicateCounts]


def fingerprint(readings: Sequence[Reading], classes: Classes) -> Fingerprint:
    """Counts, sizes, classes, tags and frames of the listed images."""
    readable = [reading for reading in readings if reading.prints is not None]
    entries = [reading.entry for reading in readings]
    frames = [reading.frame for reading in readable if reading.frame is not None]
    thumbnails = [reading.prints.thumbnail for reading in readable if reading.prints is not None]
    return {
        "images": len(readings),
        "readable": len(readable),
        "classes": list(classes.names),
        "labelled_by": dict(Counter(map(_labelled_by, entries))),
        "sizes": _sizes(readable),
        "formats": dict(Counter(reading.format for reading in readable).most_common()),
        "tags_by_split": _tags_by_split(entries),
        "findings": dict(Counter(entry.cell("finding") for entry in entries if entry.cell("finding")).most_common()),
        "patients": len({entry.cell("patient") for entry in entries} - {""}),
        "clusters": len({entry.cell("cluster") for entry in entries} - {""}),
        "class_share": _class_share(readings, classes),
        "lesion_area": _lesion_area(readings, classes),
        "mask_conversions": _conversions(readings),
        "frames": summarise_frames(frames, thumbnails),
        "overlays_by_tag": _overlays_by_tag(readable),
    }


def _labelled_by(entry: FolderEntry) -> str:
    if entry.mask is not None:
        return "mask"
    return "tag only" if entry.cell("label") else "nothing"


def _sizes(readings: Sequence[Reading]) -> Sizes:
    if not readings:
        return {}
    size = np.array([reading.size for reading in readings])
    height, width = size[:, 0], size[:, 1]
    return {
        "height": _span(height),
        "width": _span(width),
        "aspect": _span(width / height),
        "distinct": len(np.unique(size, axis=0)),
    }


def _span(values: NDArray[np.float64]) -> Span:
    return {"min": float(values.min()), "median": float(np.median(values)), "max": float(values.max())}


def _tags_by_split(entries: Sequence[FolderEntry]) -> dict[str, dict[str, int]]:
    counts = Counter((entry.cell("split") or "-", entry.cell("label") or _UNKNOWN) for entry in entries)
    table: dict[str, dict[str, int]] = {}
    for (split, tag), count in sorted(counts.items()):
        table.setdefault(split, {})[tag] = count
    return table


def _class_share(readings: Sequence[Reading], classes: Classes) -> dict[str, float]:
    """Share of the labelled pixels for each class, and of all pixels for those that nobody labelled."""
    looks = [reading.mask.pixels for reading in readings if reading.mask is not None]
    if not looks:
        return {}
    pixels = np.sum(looks, axis=0)
    shares = pixels[:-1] / max(1, pixels[:-1].sum())
    return {
        **dict(zip(classes.names, map(float, shares), strict=True)),
        "unlabelled": float(pixels[-1] / pixels.sum()),
    }


def _lesion_area(readings: Sequence[Reading], classes: Classes) -> dict[str, float]:
    """Percentiles of the lesion's share of the image, over binary masks that show one."""
    shares = [reading.mask.lesion_share for reading in readings if reading.mask is not None]
    drawn = [share for share in shares if share > 0]
    if not drawn or not classes.binary:
        return {}
    return {f"p{p}": float(np.percentile(drawn, p)) for p in (5, 25, 50, 75, 95)}


def _conversions(readings: Sequence[Reading]) -> dict[str, int]:
    looks = [reading.mask for reading in readings if reading.mask is not None]
    return dict(Counter(note for look in looks for note in look.conversions).most_common())


def _overlays_by_tag(readings: Sequence[Reading]) -> dict[str, dict[str, float]]:
    """Share of images with an overlay for each tag: a network may read the overlay instead of the tissue."""
    kinds: dict[str, Callable[[Reading], bool]] = {
        "text_in_frame": lambda reading: reading.frame is not None and reading.frame.text,
        "coloured_box": lambda reading: reading.frame is not None and reading.frame.coloured_box,
    }
    by_tag: dict[str, list[Reading]] = {}
    for reading in readings:
        by_tag.setdefault(reading.entry.cell("label") or _UNKNOWN, []).append(reading)
    return {
        kind: {tag: float(np.mean([seen(one) for one in group])) for tag, group in sorted(by_tag.items())}
        for kind, seen in kinds.items()
    }
