"""`reviewed/versions/HASH.png`: the masks of reviews, each under the name of its content, written once."""

import io
import re
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.listing import leads_outside
from endotransfer.errors import DataError
from endotransfer.io import read_bounded, write_atomically
from endotransfer.label_values import IGNORE

FOLDER = "reviewed"
VERSIONS = "versions"
LARGEST_MASK = 64 * 2**20  # bytes of a PNG with one class number a pixel
AGAIN = "review the image again"


def reviews_folder(folder: Path) -> Path:
    """`reviewed/` of `folder`; a link that leaves the folder is refused."""
    place = folder / FOLDER
    for link in (place, place / VERSIONS):
        if link.is_symlink() and leads_outside(link, folder):
            raise failure("link-outside", link, "is a link that leaves the folder", "replace it with a folder")
    return place


def as_mask_file(mask: NDArray[np.uint8]) -> bytes:
    content = io.BytesIO()
    Image.fromarray(mask).save(content, "PNG")
    return content.getvalue()


def keep_mask(folder: Path, content: bytes) -> str:
    """Put a PNG on disk, and return the name it has there."""
    name = _name_of(content)
    path = reviews_folder(folder) / VERSIONS / name
    if not path.is_file() or path.stat().st_size != len(content) or path.read_bytes() != content:
        write_atomically(path, content, DataError)
    return name


def find_mask(folder: Path, name: str) -> Path:
    """The file that `keep_mask` called `name`; one that is not what was saved is refused."""
    path = reviews_folder(folder) / VERSIONS / name
    if not re.fullmatch(r"[0-9a-f]{64}\.png", name):
        raise failure("bad-review", path.parent, "holds no mask of the name that a record gives", AGAIN)
    try:
        content = read_bounded(path, DataError, largest=LARGEST_MASK)
    except (OSError, DataError) as reason:
        raise failure("bad-review", path, "is missing or cannot be read", AGAIN) from reason
    if _name_of(content) != name:
        raise failure("bad-review", path, "is not the mask that was saved", AGAIN)
    return path


def mask_fits(mask: NDArray[np.uint8], classes: int) -> bool:
    """Whether `mask` holds nothing but class numbers and IGNORE."""
    return not np.bincount(mask.ravel(), minlength=IGNORE + 1)[classes:IGNORE].any()


def _name_of(content: bytes) -> str:
    return f"{sha256(content).hexdigest()}.png"
