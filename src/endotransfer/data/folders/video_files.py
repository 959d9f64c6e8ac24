"""The videos of a folder, by name: beside its images, or in `videos/`."""

from pathlib import Path

from endotransfer.data.folders.frame_names import LONGEST_VIDEO_NAME
from endotransfer.data.folders.listing import leads_outside, plain_name, printable
from endotransfer.data.read.image_limits import VIDEO_ENDINGS

FOLDERS = ("", "videos", "images")


def list_videos(folder: Path) -> dict[str, Path]:
    """Name with ending -> file, in the order of names; of two with one name the first place counts."""
    found: dict[str, Path] = {}
    for place in (folder / name for name in FOLDERS):
        if not place.is_dir() or leads_outside(place, folder):
            continue
        for file in sorted(place.iterdir()):
            if file.suffix.lower() in VIDEO_ENDINGS and _usable(file, folder):
                found.setdefault(plain_name(file.name), file)
    return dict(sorted(found.items()))


def _usable(file: Path, folder: Path) -> bool:
    name = file.name
    if name.startswith(".") or printable(name) != name or len(name.encode()) > LONGEST_VIDEO_NAME:
        return False
    return file.is_file() and not leads_outside(file, folder)
