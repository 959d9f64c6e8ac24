"""When a decision may be added: nobody's newer one is passed over, no drawing is replaced unasked."""

import re

from starlette.datastructures import Headers

from endotransfer.data.folders.review_record import Review, ReviewRecord, in_force, second_readings
from endotransfer.serve.answers import Refusal
from endotransfer.serve.review_state import state_of


def known_revision(headers: Headers) -> int:
    """The number of entries that the page knew of, in If-Match: `"3"`."""
    given = re.fullmatch(r'"([0-9]{1,9})"', headers.get("if-match", "").strip())
    if given is None:
        raise Refusal(428, "no-version", "say in If-Match which version of the review you know; open the image again.")
    return int(given[1])


def check_change(record: ReviewRecord, expected: int) -> None:
    """Of two people who decide at once the second is told what the first has decided."""
    if record.revision != expected:
        message = "somebody else has decided on this image meanwhile; look at their decision, then decide again."
        raise Refusal(412, "changed", message, details=state_of(record))


def check_decision(record: ReviewRecord, review: Review, expected: int, *, agreed: bool) -> None:
    check_change(record, expected)
    first = in_force(record.versions)
    if review.reading == "second":
        _check_second(None if first is None else first.who, review.who)
    elif first is not None and first.decision == "corrected" and review.decision != "corrected" and not agreed:
        message = f"this would put aside the correction that {first.who} drew; say that you want that."
        raise Refusal(409, "over-correction", message)
    if review.adjudicated and not second_readings(record.versions):
        raise Refusal(409, "one-reading", "there is one reading of this image; nothing is to be settled.")


def _check_second(first: str | None, who: str) -> None:
    if first is None:
        raise Refusal(409, "no-first", "nobody has read this image yet; save yours as the first reading.")
    if first == who:
        raise Refusal(409, "same-reader", "the first reading is yours; a second one needs another person.")
