"""`reviewed/NAME.json` on disk: found, read, replaced.

A decision is made by one rename, that of the record; its mask is on disk before.  A kill at any moment leaves the old
record or the new one.  Whoever changes a record holds the lock of the folder, which other processes honour too.
"""

import fcntl
import json
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.data.folders.listing import plain_name, unsafe_name
from endotransfer.data.folders.review_masks import AGAIN, LARGEST_MASK, VERSIONS, find_mask, keep_mask, reviews_folder
from endotransfer.data.folders.review_record import Review, ReviewRecord, ReviewVersion
from endotransfer.errors import DataError
from endotransfer.io import open_own, read_bounded, write_atomically

LOCK = ".lock"
_RECORD, _FLAT = TypeAdapter(ReviewRecord), TypeAdapter(Review)


@contextmanager
def reviews_lock(folder: Path) -> Iterator[None]:
    """The only writer of `reviewed/`, among threads and processes.  The system frees it when its holder dies."""
    place = reviews_folder(folder)
    try:
        (place / VERSIONS).mkdir(parents=True, exist_ok=True)
        file = os.fdopen(open_own(place / LOCK), "w")
    except OSError as reason:
        raise DataError(f"cannot write to {place}: {reason.strerror}; check space and permissions.") from reason
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the lock is of this opening, so threads wait for each other too
        yield


def read_record(folder: Path, name: str) -> ReviewRecord:
    """All decisions about the image called `name` (without ending); empty where there are none."""
    path = _record_path(folder, name)
    record = _read(path)
    return record if record.versions else _read(path)  # a mask of before may have become a version between two looks


def _read(path: Path) -> ReviewRecord:
    try:
        content = json.loads(read_bounded(path, DataError).decode("utf-8"))
        if isinstance(content, dict) and "versions" not in content:
            return _from_flat(path, content)
        record = _RECORD.validate_python(content)
    except FileNotFoundError:
        return ReviewRecord()
    except (DataError, ValueError, ValidationError, RecursionError) as reason:
        raise _unreadable(path) from reason
    if not record.whole():
        raise _unreadable(path)
    return record


def write_record(folder: Path, name: str, record: ReviewRecord) -> None:
    """The commit.  Call it with the lock held and every mask of `record` on disk."""
    path = _record_path(folder, name)
    write_atomically(path, json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n", DataError)
    _flat_mask(path).unlink(missing_ok=True)  # of an earlier format: `upgraded` has made it a version


def upgraded(folder: Path, name: str, record: ReviewRecord) -> ReviewRecord:
    """`record` with its mask among the versions, where it was of the format before them.  Loses nothing."""
    flat = _flat_mask(_record_path(folder, name))
    if not flat.is_file():
        return record
    kept = keep_mask(folder, read_bounded(flat, DataError, largest=LARGEST_MASK))
    return replace(
        record, versions=[replace(one, mask=kept) if one.mask == flat.name else one for one in record.versions]
    )


def set_aside(folder: Path, name: str) -> None:
    """Copy a record that cannot be read, or half a one, before another takes its place."""
    path = _record_path(folder, name)
    if path.exists():
        content = read_bounded(path, DataError)
        copy = path.with_name(f"{path.name}.damaged-{sha256(content).hexdigest()[:12]}")
        write_atomically(copy, content, DataError)


def mask_path(folder: Path, name: str, version: ReviewVersion) -> Path:
    """The mask of a version of the image called `name`."""
    flat = _flat_mask(_record_path(folder, name))
    return flat if version.mask == flat.name else find_mask(folder, version.mask or "")


def _record_path(folder: Path, name: str) -> Path:
    """The record of an image, whichever way the accents of its name are written on disk."""
    place = reviews_folder(folder)
    if unsafe_name(name):
        raise failure("unsafe-name", place, "cannot hold a name that contains a path", "rename the image")
    composed = place / f"{plain_name(name)}.json"
    if name.isascii() or composed.exists():
        return composed
    spelt = (place / f"{other}.json" for other in (unicodedata.normalize("NFD", name), name))
    return next((path for path in spelt if path.exists()), composed)


def _flat_mask(record: Path) -> Path:
    """Where a record without versions has its mask: NAME.png."""
    return record.with_name(f"{record.name.removesuffix('.json')}.png")


def _from_flat(path: Path, content: dict[str, object]) -> ReviewRecord:
    """One decision without history; half a review, a record without its mask, is none."""
    review, mask = _FLAT.validate_python(content), _flat_mask(path)
    return ReviewRecord([ReviewVersion(1, **asdict(review), mask=mask.name)] if mask.is_file() else [])


def _unreadable(path: Path) -> FaultError:
    return failure("bad-review", path, "is not a readable review", AGAIN)
