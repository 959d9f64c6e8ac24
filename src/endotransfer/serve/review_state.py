"""What the page is told of the reviews of an image."""

from dataclasses import asdict
from pathlib import Path

from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import ReviewRecord, in_force, proposal, second_readings
from endotransfer.errors import DataError


def known_record(folder: Path | None, name: str) -> ReviewRecord:
    """The record on disk; one that cannot be read counts as none, and is set aside when another is written."""
    try:
        return ReviewRecord() if folder is None else read_record(folder, name)
    except DataError:
        return ReviewRecord()


def state_of(record: ReviewRecord) -> dict[str, object]:
    """`revision`: what the next change must name; `second`: by whom there are second readings.

    `carried`: a mask from another frame that waits for a person.
    """
    first, waiting = in_force(record.versions), proposal(record.versions)
    return {
        "revision": record.revision,
        "review": None if first is None else {**asdict(first.review()), "number": first.number},
        "second": [
            {"who": one.who, "when": one.when, "number": one.number} for one in second_readings(record.versions)
        ],
        "carried": waiting and {"who": waiting.who, "number": waiting.number, "from": waiting.carried_from},
    }
