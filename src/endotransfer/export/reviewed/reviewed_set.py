"""The images of a folder that somebody has reviewed, each with its decision in force."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import Classes, read_classes
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.data.folders.frame_names import FrameName, parse_frame_name
from endotransfer.data.folders.listing import list_files, plain_name
from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_masks import reviews_folder
from endotransfer.data.folders.review_record import ReviewRecord, ReviewVersion, in_force
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.data.folders.scan_folder import scan_folder
from endotransfer.data.folders.video_files import list_videos
from endotransfer.data.read.frame_seeker import video_digest
from endotransfer.data.read.read_image import read_image
from endotransfer.errors import DataError
from endotransfer.export.reviewed.exported_frames import FrameReader

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class ReviewedImage:
    """An image and what was decided about it."""

    name: str
    file: Path
    cells: Mapping[str, str]  # its row of labels.csv
    record: ReviewRecord
    version: ReviewVersion  # in force
    drawn: bool  # for measuring (`reviewed/sample.yaml`): not to be trained on
    frame: FrameName | None = None  # where the image is a frame of the video `file`


@dataclass
class ReviewedSet:
    """What can be exported, and what cannot."""

    folder: Path
    classes: Classes
    columns: list[str]
    images: list[ReviewedImage] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # name -> reason
    frames: FrameReader = field(default_factory=FrameReader)

    def pixels(self, image: ReviewedImage) -> Pixels:
        """[H, W, 3]; frames are quickest in the order of their numbers."""
        return read_image(image.file) if image.frame is None else self.frames.read(image.file, image.frame.number)

    def mask(self, image: ReviewedImage, size: tuple[int, ...]) -> Pixels:
        """[H, W] class index or IGNORE, of the size that its image has."""
        mask = read_version_mask(self.folder, image.name, image.version, len(self.classes))
        if mask.shape != size[:2]:
            height, width = mask.shape
            raise DataError(f"its reviewed mask is {width} x {height} and the image is not; review it again")
        return mask


def collect_reviewed(folder: Path) -> ReviewedSet:
    """Every image with a decision, in the order of names; what cannot be exported is named in `left_out`."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; give the folder that was reviewed.")
    known, columns = _images(folder)
    videos = list_videos(folder)
    digests: dict[str, str] = {}
    plan = read_plan(folder)
    drawn = {plain_name(name) for name in plan.images} if plan else set()
    found = ReviewedSet(folder, read_classes(folder), columns)
    for name in _record_names(folder):
        frame = None if name in known else parse_frame_name(name)
        entry = _frame_entry(name, frame, videos) if frame else known.get(name)
        wrong = None if entry is not None else "there is no image of this name"
        record = ReviewRecord()
        try:
            record = read_record(folder, name)
        except DataError as reason:
            wrong = str(reason)
        version = in_force(record.versions)
        if wrong is None and version is None:
            continue  # taken back: nobody's word any more
        if version is not None and version.decision == "rejected":
            wrong = f"rejected by {version.who}: it has no mask"
        if frame and entry and version and version.source != _digest(entry.image, digests):
            wrong = f"another video is called {frame.video} by now; put back the one that was reviewed"
        if wrong is not None or entry is None or version is None:
            found.left_out[name] = str(wrong)
        else:
            image = ReviewedImage(name, entry.image, entry.cells, record, version, name in drawn, frame)
            found.images.append(image)
    return found


def _frame_entry(name: str, frame: FrameName, videos: Mapping[str, Path]) -> FolderEntry | None:
    """Frames of one video are one sequence: no split may part them."""
    file = videos.get(frame.video)
    return None if file is None else FolderEntry(name, file, cells={"sequence": frame.video})


def _digest(file: Path, known: dict[str, str]) -> str:
    if file.name not in known:
        known[file.name] = video_digest(file)
    return known[file.name]


def _images(folder: Path) -> tuple[dict[str, FolderEntry], list[str]]:
    """Name -> image, and the columns of the table; of a folder in the native layout or a plain one."""
    if (folder / "images").is_dir():
        contents = scan_folder(folder)
        return {entry.name: entry for entry in [*contents.unlisted, *contents.entries]}, contents.columns
    return {name: FolderEntry(name, path) for name, path in list_files(folder, folder).files.items()}, []


def _record_names(folder: Path) -> Iterator[str]:
    place = reviews_folder(folder)
    files = place.glob("*.json") if place.is_dir() else iter(())
    yield from sorted({plain_name(file.name.removesuffix(".json")) for file in files})
