"""An IoU for a folder without masks: some images chosen at random, reviewed, and an interval from them.

Images that a person picks are the clear ones, or the odd ones; only a draw says something about the rest.
"""

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from endotransfer.data.folders.drawn_sample import Plan
from endotransfer.data.folders.reviewed import read_reviewed_mask
from endotransfer.metrics import Scores, figures
from endotransfer.metrics.figure import leading_first
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.pictures import resize_labels
from endotransfer.serve.predictions import Predictions
from endotransfer.serve.review import known_review

DEFAULT = 30
RESAMPLES = 1000


def draw_plan(entries: Sequence[CatalogueEntry], count: int, seed: int | None = None) -> Plan:
    """`count` images at random: of the split `test` where the folder is divided, for the others may be trained on."""
    test = [entry for entry in entries if entry.sample.split == "test"]
    pool = sorted(entry.name for entry in test or entries)
    seed = random.SystemRandom().randrange(2**31) if seed is None else seed
    chosen = random.Random(seed).sample(pool, min(count, len(pool)))
    return Plan(chosen, "test" if test else "all", seed, datetime.now(UTC).isoformat(timespec="seconds"))


def estimate(
    folder: Path, plan: Plan, entries: dict[str, CatalogueEntry], predictions: Predictions, model: int
) -> dict[str, object]:
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
    summary = scores.summary(RESAMPLES) if done else None
    compared = [figure for figure in leading_first(figures(predictions.names)) if figure.compared]
    names, single = [figure.name for figure in compared], {figure.name for figure in compared if not figure.by_class}
    return {
        "planned": len(reviews),
        "reviewed": len(done),
        "rejected": sum(review is not None and review.decision == "rejected" for review in reviews.values()),
        "accepted_unchanged": sum(review is not None and review.decision == "accepted" for review in reviews.values()),
        "figures": summary and {name: summary.figures[name] for name in names},
        "intervals": summary and {name: summary.interval(name) for name in names if name in single},
        "level": 95,
    }
