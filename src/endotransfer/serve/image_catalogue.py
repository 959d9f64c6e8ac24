"""The images that can be looked at: those of a folder, each under an id of ours.  No request ever becomes a path."""

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.folders.listing import list_files
from endotransfer.data.folders.read_folder import to_sample
from endotransfer.data.folders.safe_name import safe_name
from endotransfer.data.folders.scan_folder import scan_folder
from endotransfer.data.folders.video_files import list_videos
from endotransfer.data.read.unread_pictures import unread_pictures
from endotransfer.errors import DataError
from endotransfer.serve.answers import refuse_unknown
from endotransfer.serve.image_figures import ImageFigures

NO_IMAGES = ("reviewed", "masks")  # sub-folders of images that are not to be looked at
ORDERS = ("name", "doubt", "area", "disagreement")  # all but the first: the largest first


@dataclass(frozen=True)
class CatalogueEntry:
    """One image.  `name` is that of its file without the ending; an upload has none that we would repeat."""

    id: str
    name: str
    sample: Sample
    uploaded: bool = False
    source: str | None = None  # of a frame: the digest of its video


class ImageCatalogue:
    """The images of `folder`: of the native layout, or a plain folder of image files.  None: there is no folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.classes: Classes | None = None  # as the folder names them; None where it says nothing
        self.entries: dict[str, CatalogueEntry] = {}
        if folder is not None:
            samples = self._native(folder) if (folder / "images").is_dir() else _plain(folder)
            self.entries = {entry.id: entry for entry in map(_entry, samples)}

    def find(self, image: str) -> CatalogueEntry:
        if image not in self.entries:
            raise refuse_unknown("image")
        return self.entries[image]

    def by_name(self) -> dict[str, CatalogueEntry]:
        return {entry.name: entry for entry in self.entries.values()}

    def _native(self, folder: Path) -> list[Sample]:
        contents = scan_folder(folder)
        if not contents.entries:
            fault = contents.faults[0]
            raise FaultError(fault.sentence(), fault)
        self.classes = contents.classes
        return [to_sample(entry, folder.resolve().name) for entry in contents.entries]


def in_order(
    entries: Iterable[CatalogueEntry], order: str, figures: Mapping[str, ImageFigures]
) -> list[CatalogueEntry]:
    """By name, or by a figure with the largest first; an image without the figure comes last.

    Many images disagree wholly, where one mask is empty: among them the one with more differing pixels comes first.
    """

    def rank(entry: CatalogueEntry) -> tuple[float, float, str]:
        known: Mapping[str, object] = {} if order == "name" else figures.get(entry.id, {})
        value, differing = known.get(order), known.get("differing") if order == "disagreement" else None
        first = -value if isinstance(value, float) else 0.0 if order == "name" else math.inf
        return first, -differing if isinstance(differing, float) else 0.0, entry.name

    return sorted(entries, key=rank)


def _plain(folder: Path) -> list[Sample]:
    """Image files right inside `folder`, and those of its sub-folders, which give their names to theirs."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; give --images a folder of images.")
    found = dict(list_files(folder, folder).files)
    places = [folder, *_sub_folders(folder)]
    for sub in places[1:]:
        for name, path in list_files(sub, folder).files.items():
            joined = safe_name("-".join([*sub.relative_to(folder).parts, name]))
            while joined in found:  # `a/b.png` and `a-b.png`: neither is lost
                joined += "_"
            found[joined] = path
    videos = list_videos(folder)
    if not found and not videos:
        raise DataError(f"{folder} holds no image; give --images a folder of images or videos.")
    there = (file for place in places for file in place.iterdir() if not file.name.startswith("."))
    if passed_over := unread_pictures(folder, there, [*found.values(), *videos.values()]):
        print(f"note: {passed_over}", file=sys.stderr)
    called = folder.resolve().name
    return [Sample(f"{called}/{name}", path) for name, path in found.items()]


def _sub_folders(folder: Path) -> Iterator[Path]:
    """All below `folder` in the order of their names, no link among them and nothing that a review or a mask is."""
    for place, names, _ in os.walk(folder):
        names[:] = sorted(name for name in names if name not in NO_IMAGES and not name.startswith("."))
        yield from (inside for name in names if not (inside := Path(place, name)).is_symlink())


def _entry(sample: Sample) -> CatalogueEntry:
    name = sample.key.rpartition("/")[2]
    return CatalogueEntry(blake2b(name.encode(), digest_size=8).hexdigest(), name, sample)
