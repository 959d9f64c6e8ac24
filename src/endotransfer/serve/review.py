"""A person's decision about a predicted mask, from the page to `reviewed/` of the image folder."""

import io
import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from endotransfer import __version__
from endotransfer.batch import IGNORE
from endotransfer.data.folders.reviewed import Decision, Review, mask_fits, read_review, write_review
from endotransfer.errors import DataError
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.pictures import resize_labels

_one_at_a_time = threading.Lock()  # of two decisions about one image the second must see the first


class Asked(BaseModel):
    """What the page sends beside the mask."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    decision: Decision
    who: str = Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")
    model: Literal[0, 1] | None = None  # whose prediction the mask began as
    replaces: str | None = Field(None, max_length=40)  # `when` of the review that the page knew of


def parse(text: str) -> Asked:
    try:
        return Asked.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError):
        raise Refusal(422, "invalid", "a decision and the reviewer's name (at most 80 letters) are needed.") from None


def save(
    folder: Path, entry: CatalogueEntry, asked: Asked, content: bytes, *,
    sizes: ImageFigures, classes: int, models: Sequence[str],
) -> Review:  # fmt: skip
    """Write the decision, unless somebody else decided meanwhile.  `content`: the mask as PNG, at the size shown."""
    mask = read_sent_mask(content, tuple(sizes["shown"]), classes)
    if asked.decision == "rejected":
        mask = np.full_like(mask, IGNORE)  # wrong somewhere: no pixel of it is a label
    if asked.model is not None and asked.model >= len(models):
        raise Refusal(422, "invalid", "there is no such model.")
    model = None if asked.model is None else models[asked.model]
    with _one_at_a_time:
        known = known_review(folder, entry.name)
        if (known.when if known else None) != asked.replaces:
            raise Refusal(409, "changed", "somebody else has reviewed this image meanwhile; open it again.")
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        review = Review(asked.decision, asked.who, now, model, __version__)
        write_review(folder, entry.name, review, resize_labels(mask, sizes["size"]))
    return review


def known_review(folder: Path | None, name: str) -> Review | None:
    """The review on disk; one that cannot be read counts as none, and may be replaced."""
    try:
        return None if folder is None else read_review(folder, name)
    except DataError:
        return None


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
