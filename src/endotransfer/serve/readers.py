"""How far two people agree who drew the same images without seeing the model's mask or each other's.

No model can be measured more finely than that: an IoU above the readers' own says nothing more.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.batch import IGNORE
from endotransfer.data.folders.review_record import ReviewRecord, ReviewVersion, in_force, second_readings
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.metrics import Scores
from endotransfer.serve.image_catalogue import CatalogueEntry

RESAMPLES = 1000
Mask = NDArray[np.uint8]


def first_reading(record: ReviewRecord) -> ReviewVersion | None:
    """What the first reader drew blindly, before anybody settled it."""
    drawn = [one for one in record.versions if one.reading == "first" and one.blind and not one.adjudicated]
    now = in_force(record.versions)
    return drawn[-1] if drawn and now is not None and (now.adjudicated or now == drawn[-1]) else None


def compare_readers(
    folder: Path, records: Mapping[str, ReviewRecord], entries: Mapping[str, CatalogueEntry], classes: Sequence[str]
) -> dict[str, object]:
    """Their IoU over the images that both drew; the interval draws patients where they are known, else images."""
    scores, settled = Scores(classes), 0
    for name, record in records.items():
        first, second = first_reading(record), [one for one in second_readings(record.versions) if one.blind]
        if first is None or not second:
            continue
        one, other = (read_version_mask(folder, name, version, len(classes)) for version in (first, second[0]))
        sample = entries[name].sample
        scores.update(*_comparable(other, one), key=sample.key, group=sample.group)
        now = in_force(record.versions)
        settled += now is not None and now.adjudicated
    images = len(scores.images())
    summary = scores.summary(RESAMPLES) if images else None
    name = "iou_lesion" if len(classes) == 2 else "miou"
    return {
        "images": images,
        "adjudicated": settled,
        "iou": summary and summary.figure(name),
        "interval": summary and summary.interval(name),
    }


def _comparable(one: Mask, other: Mask) -> tuple[Mask, Mask]:
    """Both without the pixels that either left open."""
    open_pixels = (one == IGNORE) | (other == IGNORE)
    return np.where(open_pixels, np.uint8(0), one), np.where(open_pixels, np.uint8(IGNORE), other)
