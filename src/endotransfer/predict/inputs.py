"""What a user asks to have predicted: images and videos in files, folders and patterns, each with a safe name."""

import glob
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from endotransfer.data.folders.listing import SUFFIXES, leads_outside
from endotransfer.data.folders.safe_name import LONGEST as LONGEST
from endotransfer.data.folders.safe_name import safe_name as safe_name
from endotransfer.data.read.image_limits import VIDEO_ENDINGS
from endotransfer.data.read.unread_pictures import unread_pictures
from endotransfer.errors import DataError


@dataclass(frozen=True)
class Input:
    """One image or video."""

    name: str  # of its outputs: fit for any file system, and no other input's
    file: Path
    relative: str  # the file as seen from the folder it was found in
    video: bool


def list_inputs(given: Sequence[Path], *, videos: bool = True) -> list[Input]:
    """Files as they are, folders by their images and videos, patterns by what they match."""
    endings = (*SUFFIXES, *VIDEO_ENDINGS) if videos else SUFFIXES
    found: dict[str, Input] = {}
    for root, file in (pair for entry in given for pair in _files_of(entry, endings)):
        relative = file.relative_to(root) if root is not None else Path(file.name)
        name = safe_name("-".join(relative.with_suffix("").parts))
        while name in found:  # two folders may hold the same name; neither result is lost
            name += "_"
        found[name] = Input(name, file, relative.as_posix(), file.suffix.lower() in VIDEO_ENDINGS)
    if not found:
        raise DataError(f"no image in {', '.join(map(str, given))}; known endings: {', '.join(sorted(endings))}.")
    return list(found.values())


def _files_of(entry: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path | None, Path]]:
    """(folder that was searched, file)."""
    if (entry / "images").is_dir():  # a folder in the native layout: its masks are not for predicting
        entry = entry / "images"
    if entry.is_dir():
        files = sorted(file for file in entry.rglob("*") if file.is_file() and not file.name.startswith("."))
        found = [file for file in files if file.suffix.lower() in endings]
        inside = [file for file in found if not leads_outside(file, entry)]
        if len(inside) < len(found):
            print(f"note: {len(found) - len(inside)} links that leave {entry} are not followed", file=sys.stderr)
        videos = [file for file in files if file.suffix.lower() in VIDEO_ENDINGS]  # who asked for none knows
        if passed_over := unread_pictures(entry, files, [*found, *videos]):
            print(f"note: {passed_over}", file=sys.stderr)
        yield from ((entry, file) for file in inside)
    elif entry.exists():
        yield None, entry
    elif glob.has_magic(str(entry)):
        matches = map(Path, sorted(glob.glob(str(entry), recursive=True)))  # noqa: PTH207  (Path's takes no root)
        yield from ((None, file) for file in matches if file.suffix.lower() in endings and file.is_file())
    else:
        raise DataError(f"there is no {entry}; give image files or folders of images.")
