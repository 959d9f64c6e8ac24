"""What a user asks to have predicted: images and videos in files, folders and patterns, each with a safe name."""

import glob
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from endotransfer.data.folders.listing import SUFFIXES
from endotransfer.data.read.image_limits import VIDEO_ENDINGS
from endotransfer.errors import DataError

LONGEST = 120  # bytes of a name; file systems take 255, and endings and numbers are still to come
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\ud800-\udfff]')


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


def safe_name(text: str) -> str:
    """`text` without what a file system or a terminal could stumble over, and not too long for either."""
    name = _UNFIT.sub("_", text).strip(". ") or "_"
    raw = name.encode()
    if len(raw) <= LONGEST:
        return name
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=4).hexdigest()
    return f"{raw[: LONGEST - 9].decode(errors='ignore')}-{digest}"


def _files_of(entry: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path | None, Path]]:
    """(folder that was searched, file)."""
    if (entry / "images").is_dir():  # a folder in the native layout: its masks are not for predicting
        entry = entry / "images"
    if entry.is_dir():
        files = sorted(entry.rglob("*"))
        yield from ((entry, file) for file in files if file.suffix.lower() in endings and file.is_file())
    elif entry.exists():
        yield None, entry
    elif glob.has_magic(str(entry)):
        matches = map(Path, sorted(glob.glob(str(entry), recursive=True)))  # noqa: PTH207  (Path's takes no root)
        yield from ((None, file) for file in matches if file.suffix.lower() in endings and file.is_file())
    else:
        raise DataError(f"there is no {entry}; give image files or folders of images.")
