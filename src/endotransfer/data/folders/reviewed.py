"""Reviews: people's decisions about an image of a folder, read and made.

A mask holds class indices, IGNORE (255) where nothing was decided, whatever the number of classes.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.review_files import (
    mask_path,
    read_record,
    reviews_lock,
    set_aside,
    upgraded,
    write_record,
)
from endotransfer.data.folders.review_masks import AGAIN, as_mask_file, keep_mask, mask_fits
from endotransfer.data.folders.review_record import (
    CARRIED,
    TAKEN_BACK,
    Review,
    ReviewRecord,
    ReviewVersion,
    before,
    in_force,
)
from endotransfer.data.read.decode import decode
from endotransfer.errors import DataError
from endotransfer.label_values import IGNORE

Check = Callable[[ReviewRecord], None]  # raises where a record, read under the lock, must stay as it is


def read_review(folder: Path, name: str) -> Review | None:
    """The decision in force about the image called `name` (without ending) of `folder`; None where there is none."""
    version = in_force(read_record(folder, name).versions)
    return None if version is None else version.review()


def reviewed_mask_path(folder: Path, name: str) -> Path | None:
    """The mask of the decision in force where it labels anything, that is where it is no rejection."""
    version = in_force(read_record(folder, name).versions)
    return None if version is None or version.decision == "rejected" else mask_path(folder, name, version)


def read_reviewed_mask(folder: Path, name: str, classes: int) -> NDArray[np.uint8] | None:
    """The mask of the decision in force: [H, W] class index or IGNORE; all IGNORE where it was rejected."""
    version = in_force(read_record(folder, name).versions)
    return None if version is None else read_version_mask(folder, name, version, classes)


def read_version_mask(folder: Path, name: str, version: ReviewVersion, classes: int) -> NDArray[np.uint8]:
    """The mask of any version, in force or not."""
    path = mask_path(folder, name, version)
    decoded = decode(path)
    values = np.asarray(decoded.image)
    if decoded.image.mode != "L" or not mask_fits(values, classes):
        what = f"is not a grey PNG of class numbers below {classes} and {IGNORE}"
        raise failure("bad-review", path, what, AGAIN)
    return values


def write_review(
    folder: Path, name: str, review: Review, mask: NDArray[np.uint8], check: Check = lambda _: None
) -> ReviewVersion:
    """Add a decision; it is in force from now on.  `masks/` is never touched."""

    def add(record: ReviewRecord) -> ReviewVersion:
        return ReviewVersion(record.revision + 1, **asdict(review), mask=keep_mask(folder, as_mask_file(mask)))

    return _append(folder, name, add, check)


def propose_review(
    folder: Path, name: str, mask: NDArray[np.uint8], *, carried_from: int, who: str, when: str, version: str,
    model: str | None = None, source: str | None = None, check: Check = lambda _: None,
) -> ReviewVersion:  # fmt: skip
    """Add a mask that was carried from another frame.  It is no decision: what was in force stays so."""

    def add(record: ReviewRecord) -> ReviewVersion:
        return ReviewVersion(
            record.revision + 1, CARRIED, who, when, version, model, carried_from=carried_from, source=source,
            mask=keep_mask(folder, as_mask_file(mask)),
        )  # fmt: skip

    return _append(folder, name, add, check)


def restore_review(
    folder: Path, name: str, to: int | None, *, who: str, when: str, version: str, check: Check = lambda _: None,
    line: str = "",
) -> ReviewVersion:  # fmt: skip
    """Put the decision of number `to` in force again; None: no decision at all."""

    def add(record: ReviewRecord) -> ReviewVersion:
        known = [one for one in record.versions if one.number == to and one.line == line]
        if to is not None and (not known or known[0].decision == TAKEN_BACK):
            raise DataError(f"{name} has no decision of number {to} to return to; look at its history.")
        return ReviewVersion(
            record.revision + 1, TAKEN_BACK, who, when, version, restores=to, reading="second" if line else "first"
        )

    return _append(folder, name, add, check)


def former_review(record: ReviewRecord, line: str = "") -> int | None:
    """The number of the decision that counted before the one in force; None where there was none."""
    now = in_force(record.versions, line)
    former = None if now is None else before(record.versions, now)
    return None if former is None else former.number


def _append(folder: Path, name: str, add: Callable[[ReviewRecord], ReviewVersion], check: Check) -> ReviewVersion:
    with reviews_lock(folder):
        try:
            record = read_record(folder, name)
        except DataError:
            record = ReviewRecord()
        check(record)
        if not record.versions:
            set_aside(folder, name)  # a record that says nothing may be a damaged one
        record = upgraded(folder, name, record)
        entry = add(record)
        write_record(folder, name, replace(record, versions=[*record.versions, entry]))
    return entry
