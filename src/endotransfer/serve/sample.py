"""An IoU for a folder without masks: some images chosen at random, reviewed, and an interval from them.

Images that a person picks are the clear ones, or the odd ones; only a draw says something about the rest.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from endotransfer.data.faults import failure
from endotransfer.data.listing import leads_outside
from endotransfer.data.reviewed import FOLDER, read_reviewed_mask
from endotransfer.errors import DataError
from endotransfer.files import write_atomically
from endotransfer.metrics import Scores
from endotransfer.serve.catalogue import Entry
from endotransfer.serve.pictures import resize_labels
from endotransfer.serve.predictions import Predictions
from endotransfer.serve.review import known_review

FILE = "sample.yaml"  # no review can be called so: theirs end in .png and .json
DEFAULT = 30
RESAMPLES = 1000


@dataclass(frozen=True)
class Plan:
    """Which images were drawn, out of which, and with which seed."""

    images: list[str]  # names
    drawn_from: str  # "test": the images of that split; "all"
    seed: int
    when: str


def draw_plan(entries: Sequence[Entry], count: int, seed: int | None = None) -> Plan:
    """`count` images at random: of the split `test` where the folder is divided, for the others may be trained on."""
    test = [entry for entry in entries if entry.sample.split == "test"]
    pool = sorted(entry.name for entry in test or entries)
    seed = random.SystemRandom().randrange(2**31) if seed is None else seed
    chosen = random.Random(seed).sample(pool, min(count, len(pool)))
    return Plan(chosen, "test" if test else "all", seed, datetime.now(UTC).isoformat(timespec="seconds"))


def write_plan(folder: Path, plan: Plan) -> None:
    path = _path(folder)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as reason:
        raise DataError(f"cannot make {path.parent}: {reason.strerror}; check space and permissions.") from reason
    write_atomically(path, yaml.safe_dump(asdict(plan), sort_keys=False, allow_unicode=True), DataError)


def read_plan(folder: Path) -> Plan | None:
    """The plan of a folder; None where there is none that can be read."""
    try:
        content = yaml.safe_load(_path(folder).read_text(encoding="utf-8"))
        plan = Plan(**content)
    except (DataError, OSError, ValueError, TypeError, yaml.YAMLError, RecursionError):
        return None
    return plan if isinstance(plan.images, list) and all(isinstance(name, str) for name in plan.images) else None


def estimate(
    folder: Path, plan: Plan, entries: dict[str, Entry], predictions: Predictions, model: int
) -> dict[str, Any]:
    """The model against the reviewed images of the plan.  `entries`: by name.

    A rejected image has no mask to measure against, and leaving it out would flatter the model: it counts as not done.
    """
    reviews = {name: known_review(folder, name) for name in plan.images if name in entries}
    done = [name for name, review in reviews.items() if review is not None and review.decision != "rejected"]
    scores = Scores(predictions.names)
    for name in done:
        mask = read_reviewed_mask(folder, name, len(predictions.names))
        if mask is not None:
            labels, sample = predictions.labels(entries[name], model), entries[name].sample
            scores.update(labels, resize_labels(mask, labels.shape), key=sample.key, group=sample.group)
    figures = scores.summary(RESAMPLES) if done else None
    return {
        "planned": len(reviews),
        "reviewed": len(done),
        "rejected": sum(review is not None and review.decision == "rejected" for review in reviews.values()),
        "accepted_unchanged": sum(review is not None and review.decision == "accepted" for review in reviews.values()),
        "figures": figures and {name: figures[name] for name in ("miou", "iou_lesion", "dice_lesion", "iou")},
        "intervals": figures and {name: figures["intervals"][name] for name in ("miou", "iou_lesion", "dice_lesion")},
        "level": 95,
    }


def _path(folder: Path) -> Path:
    place = folder / FOLDER
    if place.is_symlink() and leads_outside(place, folder):
        raise failure("link-outside", place, "is a link that leaves the folder", "replace it with a folder")
    return place / FILE
