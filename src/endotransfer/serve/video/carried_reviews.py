"""What people decide on masks that were carried to a frame: accepted as they are, or put aside."""

from pathlib import Path

from endotransfer import __version__
from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import Review, ReviewRecord, ReviewVersion, in_force, proposal
from endotransfer.data.folders.reviewed import read_version_mask, restore_review, write_review
from endotransfer.serve.answers import Refusal
from endotransfer.serve.review import now
from endotransfer.serve.review_rules import check_change


def accept_carried(folder: Path, name: str, who: str, expected: int, classes: int) -> ReviewVersion:
    """The carried mask counts from now on, under the name of who accepts it and with the frame it came from."""
    record, found = _waiting(folder, name, expected)
    mask = read_version_mask(folder, name, found, classes)
    review = Review(
        "accepted", who, now(), found.model, __version__, carried_from=found.carried_from, source=found.source
    )
    return write_review(folder, name, review, mask, lambda now_there: check_change(now_there, record.revision))


def dismiss_carried(folder: Path, name: str, who: str, expected: int) -> ReviewVersion:
    """The carried mask waits no longer; what was in force stays so."""
    record, _ = _waiting(folder, name, expected)
    known = in_force(record.versions)
    return restore_review(
        folder, name, None if known is None else known.number, who=who, when=now(), version=__version__,
        check=lambda now_there: check_change(now_there, record.revision),
    )  # fmt: skip


def _waiting(folder: Path, name: str, expected: int) -> tuple[ReviewRecord, ReviewVersion]:
    record = read_record(folder, name)
    check_change(record, expected)
    found = proposal(record.versions)
    if found is None:
        raise Refusal(409, "nothing-carried", "no carried mask waits on this frame.")
    return record, found
