"""Videos of a folder, and the names under which their frames are reviewed: those that an import would give them."""

import re
from pathlib import Path

from endotransfer.data.folders.listing import leads_outside, plain_name
from endotransfer.data.folders.safe_name import safe_name
from endotransfer.data.read.image_limits import VIDEO_ENDINGS

_FRAME = re.compile(r"(.+)-f([0-9]{6,9})")


def list_videos(folder: Path) -> dict[str, Path]:
    """Name -> file, of the videos right inside `folder` or its `videos/`; links that leave the folder are not taken."""
    found: dict[str, Path] = {}
    for place in (folder, folder / "videos"):
        files = sorted(place.iterdir()) if place.is_dir() and not leads_outside(place, folder) else []
        for file in files:
            if file.suffix.lower() in VIDEO_ENDINGS and file.is_file() and not leads_outside(file, folder):
                found.setdefault(video_name(file), file)
    return found


def video_name(file: Path) -> str:
    return plain_name(safe_name(file.stem))


def frame_name(video: str, number: int) -> str:
    return f"{video}-f{number:06}"


def frame_of(name: str) -> tuple[str, int] | None:
    """The video and the number in the name of a frame; None for any other name."""
    found = _FRAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2]))
