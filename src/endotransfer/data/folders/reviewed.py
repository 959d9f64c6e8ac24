"""Reviews: a person's decision about an image, in `reviewed/NAME.png` and `reviewed/NAME.json`.

The mask holds class indices, IGNORE (255) where nothing was decided, whatever the number of classes.  A review counts
only where both files are there and whole; the JSON is written last.
"""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.listing import leads_outside, unsafe_name
from endotransfer.data.read.decode import decode
from endotransfer.errors import DataError
from endotransfer.io import write_atomically
from endotransfer.label_values import IGNORE

FOLDER = "reviewed"
Decision = Literal["accepted", "corrected", "rejected"]
DECISIONS: tuple[str, ...] = get_args(Decision)


@dataclass(frozen=True)
class Review:
    """One decision.  `model`: whose prediction the mask started from; None: drawn from scratch."""

    decision: Decision
    who: str
    when: str  # ISO 8601, UTC, to the microsecond
    model: str | None
    version: str  # of endotransfer


def read_review(folder: Path, name: str) -> Review | None:
    """The decision about the image called `name` (without ending) of `folder`; None where there is none."""
    note, mask = _paths(folder, name)
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        review = Review(**{key: content[key] for key in Review.__dataclass_fields__})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as reason:
        raise failure("bad-review", note, "is not a readable review", "review the image again") from reason
    if review.decision not in DECISIONS or not all(isinstance(text, str) for text in (review.who, review.when)):
        raise failure("bad-review", note, "holds no known decision", "review the image again")
    return review if mask.is_file() else None


def read_reviewed_mask(folder: Path, name: str, classes: int) -> NDArray[np.uint8] | None:
    """The mask of that decision: [H, W] class index or IGNORE; all IGNORE where it was rejected."""
    if read_review(folder, name) is None:
        return None
    path = _paths(folder, name)[1]
    decoded = decode(path)
    values = np.asarray(decoded.image)
    if decoded.image.mode != "L" or not mask_fits(values, classes):
        what = f"is not a grey PNG of class numbers below {classes} and {IGNORE}"
        raise failure("bad-review", path, what, "review the image again")
    return values


def mask_fits(mask: NDArray[np.uint8], classes: int) -> bool:
    """Whether `mask` holds nothing but class numbers and IGNORE."""
    return not np.bincount(mask.ravel(), minlength=IGNORE + 1)[classes:IGNORE].any()


def write_review(folder: Path, name: str, review: Review, mask: NDArray[np.uint8]) -> None:
    """Save a decision, replacing an earlier one.  `masks/` is never touched."""
    note, path = _paths(folder, name)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as reason:
        raise DataError(f"cannot make {path.parent}: {reason.strerror}; check space and permissions.") from reason
    content = io.BytesIO()
    Image.fromarray(mask).save(content, "PNG")
    write_atomically(path, content.getvalue(), DataError)
    write_atomically(note, json.dumps(asdict(review), indent=2, ensure_ascii=False) + "\n", DataError)


def remove_review(folder: Path, name: str) -> None:
    """Delete a decision."""
    for path in _paths(folder, name):  # the JSON first: without it the mask counts for nothing
        path.unlink(missing_ok=True)


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    """(JSON, mask) of the image called `name`; never anywhere but right inside `reviewed/`."""
    place = folder / FOLDER
    if unsafe_name(name):
        raise failure("unsafe-name", place, "cannot hold a name that contains a path", "rename the image")
    if place.is_symlink() and leads_outside(place, folder):
        raise failure("link-outside", place, "is a link that leaves the folder", "replace it with a folder")
    return place / f"{name}.json", place / f"{name}.png"
