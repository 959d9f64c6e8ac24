"""Open one image file safely: check the header against the limits, decode, rotate upright."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.data.read.image_limits import (
    FORMATS,
    MAX_FRAMES,
    MAX_PAGES,
    PAGED_FORMATS,
    oversize,
    too_many_frames,
    too_many_scans,
)

_SCAN = b"\xff\xda"  # the marker that begins one; within compressed data it cannot occur
_PIECE = 2**20
_ORIENTATION = 0x0112  # EXIF tag; 1 = upright, 5 to 8 swap height and width
LOSSY = ("JPEG", "WEBP")  # formats whose values may not be what was written


@dataclass(frozen=True)
class Decoded:
    """A decoded, upright picture in its own mode (no colour conversion yet)."""

    image: Image.Image
    format: str
    rotated: bool


@dataclass(frozen=True)
class Header:
    """Size after rotation, and the format by content."""

    height: int
    width: int
    format: str


def decode(path: Path, page: int | None = None) -> Decoded:
    """Decode the one picture in `path`; with `page`, that one of several, also of a GIF or HEIC file."""
    with _opened(path, page) as (image, orientation):
        _check_scans(path, image)
        image.load()
        upright = ImageOps.exif_transpose(image) if orientation != 1 else image
        return Decoded(upright, image.format or "", orientation != 1)


def read_header(path: Path) -> Header:
    """Size and format of `path` without decoding its pixels."""
    with _opened(path) as (image, orientation):
        turned = orientation >= 5 and image.format != "TIFF"  # whose reader gives the upright size by itself
        width, height = image.size[::-1] if turned else image.size
        return Header(height, width, image.format or "")


def count_pages(path: Path) -> int:
    """How many pictures `path` holds, a GIF or HEIC file included; of a TIFF counted no further than one too many."""
    with _opened(path, 0) as (image, _):
        return count_frames(image, MAX_PAGES)


@contextmanager
def _opened(path: Path, page: int | None = None) -> Iterator[tuple[Image.Image, int]]:
    """The opened file (at `page`), its header within limits, and its EXIF orientation (1 to 8)."""
    _check_file(path)
    try:
        with _open(path, FORMATS if page is None else (*FORMATS, *PAGED_FORMATS)) as image:
            if page:
                image.seek(page)
            _check_limits(path, image, several=page is not None)
            yield image, _orientation(image)
    except (FaultError, MemoryError):
        raise
    except UnidentifiedImageError as reason:
        what, fix = "is not a PNG, JPEG, BMP, TIFF or WebP image", "convert it to PNG, or remove it"
        raise failure("not-an-image", path, what, fix) from reason
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as reason:
        raise failure("too-large", path, "claims to be enormous", "remove it") from reason
    except PermissionError as reason:
        raise failure("no-permission", path, "may not be read", "change its rights") from reason
    except Exception as reason:  # a damaged file makes decoders raise almost any type
        what = "cannot be decoded (cut short or damaged)"
        raise failure("damaged", path, what, "copy it again from where it came from, or remove it") from reason


def _open(path: Path, formats: tuple[str, ...]) -> Image.Image:
    """Read the header.  Pillow's warning about size is made an error: our own limits say the rest."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        return Image.open(path, formats=formats)


def _check_file(path: Path) -> None:
    try:
        size = path.stat().st_size
        regular = path.is_file()  # a pipe or a device would block for ever
    except (OSError, ValueError) as reason:
        raise failure("no-file", path, "does not exist or may not be reached", "check the name") from reason
    if not regular:
        raise failure("not-a-file", path, "is not a file", "remove it, or name an image")
    if size == 0:
        raise failure("empty-file", path, "has zero bytes", "copy it again from where it came from, or remove it")


def _check_limits(path: Path, image: Image.Image, *, several: bool) -> None:
    width, height = image.size
    if wrong := oversize(height, width):
        raise failure("too-large", path, wrong, "scale it down, or remove it")
    if not several and (wrong := too_many_frames(count_frames(image, MAX_FRAMES))):
        fix = "save the wanted one as a single image, or take them all with `endotransfer data import folders`"
        raise failure("several-frames", path, wrong, fix)


def count_frames(image: Image.Image, most: int) -> int:
    """How many pictures a file holds.  To count those of a TIFF takes time with their square, and a few megabytes have
    room for a hundred thousand: it ends at `most` + 1."""
    if image.format != "TIFF":
        return int(getattr(image, "n_frames", 1))
    here, found = image.tell(), 1
    try:
        while found <= most:
            image.seek(found)
            found += 1
    except EOFError:
        pass
    image.seek(here)
    return found


def count_scans(path: Path) -> int:
    """Of the JPEG, or the JPEGs, that a file holds."""
    return sum(content.count(_SCAN) for content in _chunks(path))


def _check_scans(path: Path, image: Image.Image) -> None:
    """Each scan of a JPEG goes over the whole picture: thousands of them in a small file take minutes."""
    if image.format != "JPEG":
        return
    scans = count_scans(path)
    if wrong := too_many_scans(scans):
        raise failure("many-scans", path, wrong, "save it again as an ordinary JPEG or PNG")


def _chunks(path: Path) -> Iterator[bytes]:
    """The file in pieces that overlap by one byte, so that no marker is cut in two."""
    last = b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield last + piece
            last = piece[-1:]


def _orientation(image: Image.Image) -> int:
    # Asking a PNG that announces no EXIF would decode it whole; EXIF behind the pixels is not looked at.
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    value = image.getexif().get(_ORIENTATION, 1)
    return value if value in range(1, 9) else 1
