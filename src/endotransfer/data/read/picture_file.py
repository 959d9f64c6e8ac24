"""Any file with pictures in it: photographs, pages of a TIFF, frames of a GIF, a DICOM file or a video."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.listing import SUFFIXES
from endotransfer.data.read.decode import count_pages
from endotransfer.data.read.image_limits import MAX_PAGES, VIDEO_ENDINGS
from endotransfer.data.read.read_image import ImageReading, read_image_and_notes
from endotransfer.errors import ConfigError

HEIC_ENDINGS = (".heic", ".heif")
DICOM_ENDINGS = (".dcm", ".dicom", ".dic")
READ_ENDINGS = (*SUFFIXES, ".gif", *HEIC_ENDINGS, *DICOM_ENDINGS, *VIDEO_ENDINGS)


@dataclass(frozen=True)
class FilePart:
    """One picture of a file: `name` sets it apart from the others ('' where it is the only one)."""

    name: str
    read: Callable[[], ImageReading]
    dicom: str = ""  # `instance_mark` of a DICOM file and, behind '#', the number of the frame from 1 on


@dataclass(frozen=True)
class PictureFile:
    """The pictures of one file, none of them decoded yet; `patient` as a DICOM file knows it, hashed."""

    parts: list[FilePart] = field(default_factory=list)
    patient: str = ""


def open_picture_file(path: Path, frames: str = "1") -> PictureFile:
    """`frames`: of a video, how many a second, or "change".  What cannot be read raises a sentence."""
    ending = path.suffix.lower()
    if ending in VIDEO_ENDINGS:
        return _video(path, frames)
    if ending in DICOM_ENDINGS or ending not in READ_ENDINGS:  # archives give DICOM files any ending, or none
        return _dicom(path)
    if ending in HEIC_ENDINGS:
        _teach_pillow_heic()
    if ending in (".jpg", ".jpeg", ".bmp"):  # never several
        return PictureFile([FilePart("", partial(read_image_and_notes, path))])
    pages = _few(path, count_pages(path))
    names = _numbered("p", range(1, pages + 1))
    return PictureFile([FilePart(name, partial(read_image_and_notes, path, n)) for n, name in enumerate(names)])


def _dicom(path: Path) -> PictureFile:
    from endotransfer.data.read import dicom

    header = dicom.read_dicom_header(path)
    frames = range(_few(path, dicom.frame_count(header)))
    names = _numbered("f", frames)
    mark = dicom.instance_mark(header)
    parts = [
        FilePart(name, partial(dicom.read_dicom_frame, path, header, n), mark and f"{mark}#{n + 1}")
        for n, name in enumerate(names)
    ]
    return PictureFile(parts, dicom.hashed_patient(header))


def _video(path: Path, frames: str) -> PictureFile:
    from endotransfer.data.read.video_frames import ChosenFrames

    chosen = ChosenFrames(path, frames)
    _few(path, len(chosen.numbers))
    return PictureFile([FilePart(f"f{number:06}", partial(chosen.read, number)) for number in chosen.numbers])


def _numbered(letter: str, numbers: range) -> list[str]:
    return [f"{letter}{number:04}" for number in numbers] if len(numbers) > 1 else [""]


def _few(path: Path, count: int) -> int:
    if count > MAX_PAGES:
        what = f"holds more than {MAX_PAGES:,} pictures"
        raise failure("too-many", path, what, "divide it into several files")
    return count


def _teach_pillow_heic() -> None:
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        raise ConfigError("pillow-heif, which reads HEIC, is not installed; install endotransfer[heic].") from None
    register_heif_opener()
