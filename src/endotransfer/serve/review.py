"""A person's decision about a predicted mask, from the page to `reviewed/` of the image folder."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from endotransfer import __version__
from endotransfer.batch import IGNORE
from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_masks import mask_fits
from endotransfer.data.folders.review_record import Decision, Reading, Review, ReviewVersion, in_force
from endotransfer.data.folders.reviewed import former_review, restore_review, write_review
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.pictures import resize_labels
from endotransfer.serve.predictions import Predictions
from endotransfer.serve.review_rules import check_change, check_decision

NAME = r"^[^\x00-\x1f\x7f]+$"


class ReviewerAsks(BaseModel):
    """Who wants something."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    who: str = Field(min_length=1, max_length=80, pattern=NAME)
    reading: Reading = "first"

    @property
    def line(self) -> str:
        return "" if self.reading == "first" else self.who


class Asked(ReviewerAsks):
    """What the page sends beside the mask."""

    decision: Decision
    model: Literal[0, 1] | None = None  # whose prediction the mask began as
    threshold: float | None = Field(None, gt=0, lt=1)  # of the mask that is accepted
    blind: bool = False  # drawn without sight of a model's mask
    adjudicated: bool = False  # settles two readings
    over_correction: bool = False  # the person has agreed that this takes the place of a drawing


class RestoreAsked(ReviewerAsks):
    """The number of the decision to return to; None: of none."""

    to: int | None = None


def parse(text: str) -> Asked:
    try:
        return Asked.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError):
        raise Refusal(422, "invalid", "a decision and the reviewer's name (at most 80 letters) are needed.") from None


def save(
    folder: Path, entry: CatalogueEntry, asked: Asked, content: bytes, *,
    expected: int, sizes: ImageFigures, predictions: Predictions,
) -> ReviewVersion:  # fmt: skip
    """Write the decision, unless somebody else decided meanwhile.  `content`: the mask as PNG, at the size shown."""
    mask = read_sent_mask(content, tuple(sizes["shown"]), len(predictions.names))
    if asked.model is not None and asked.model >= len(predictions.models):
        raise Refusal(422, "invalid", "there is no such model.")
    if asked.decision == "accepted":
        _check_accepted(entry, asked, mask, predictions)
    if asked.blind and asked.decision != "corrected":
        raise Refusal(422, "invalid", "who accepts or rejects a mask has seen it; that is no blind reading.")
    if asked.decision == "rejected":
        mask = np.full_like(mask, IGNORE)  # wrong somewhere: no pixel of it is a label
    model = None if asked.model is None else predictions.models[asked.model].name
    threshold = asked.threshold if asked.decision == "accepted" else None
    review = Review(
        asked.decision,
        asked.who,
        now(),
        model,
        __version__,
        threshold,
        asked.blind,
        asked.reading,
        asked.adjudicated,
        source=entry.source,
    )
    return write_review(
        folder, entry.name, review, resize_labels(mask, sizes["size"]),
        lambda record: check_decision(record, review, expected, agreed=asked.over_correction),
    )  # fmt: skip


def restore(folder: Path, name: str, asked: RestoreAsked, expected: int) -> ReviewVersion:
    """Return to an earlier decision, or to none."""
    if asked.to is not None and not 1 <= asked.to <= expected:
        raise Refusal(422, "invalid", "there is no such version of this review.")
    return restore_review(
        folder, name, asked.to, who=asked.who, when=now(), version=__version__, line=asked.line,
        check=lambda record: check_change(record, expected),
    )  # fmt: skip


def take_back(folder: Path, name: str, asked: ReviewerAsks, expected: int) -> ReviewVersion:
    """Return to what was in force before the last decision."""
    record = read_record(folder, name)
    check_change(record, expected)  # entries are only ever added: the same revision is the same record
    if in_force(record.versions, asked.line) is None:
        raise Refusal(404, "no-review", "there is no decision to take back.")
    to = former_review(record, asked.line)
    return restore(folder, name, RestoreAsked(who=asked.who, reading=asked.reading, to=to), expected)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _check_accepted(entry: CatalogueEntry, asked: Asked, mask: NDArray[np.uint8], predictions: Predictions) -> None:
    """An accepted mask is the model's own, to the pixel; anything else was drawn by somebody."""
    if asked.model is None or asked.threshold is None:
        raise Refusal(422, "invalid", "to accept is to accept a model's mask at a threshold; name both.")
    if not np.array_equal(mask, predictions.labels(entry, asked.model, asked.threshold)):
        raise Refusal(422, "not-the-models", "this is not the model's mask; save it as a correction, or open it again.")


def read_sent_mask(content: bytes, shown: tuple[int, ...], classes: int) -> NDArray[np.uint8]:
    """The mask [h, w] in the red channel of a PNG; its size is compared before it is decoded."""
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != (shown[1], shown[0]) or image.mode not in ("L", "RGB", "RGBA"):
                raise Refusal(400, "other-size", "the mask is not of the size of its image.")
            mask = np.ascontiguousarray(np.atleast_3d(np.asarray(image))[..., 0])
    except Refusal:
        raise
    except Exception:  # a damaged file makes decoders raise almost any type
        raise Refusal(400, "damaged", "the mask is not a whole PNG file.") from None
    if not mask_fits(mask, classes):
        raise Refusal(400, "unknown-value", "the mask holds a value that is no class.")
    return mask
