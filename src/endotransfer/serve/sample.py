"""An IoU for a folder without masks: some images chosen at random, reviewed, and an interval from them.

Images that a person picks are the clear ones, or the odd ones; only a draw says something about the rest.  And only
masks that were drawn without sight of the model's say how good the model's is.
"""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from endotransfer.data.folders.drawn_sample import Plan
from endotransfer.data.folders.listing import plain_name
from endotransfer.data.folders.review_record import in_force
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.metrics import Scores, figures
from endotransfer.metrics.figure import leading_first
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.pictures import resize_labels
from endotransfer.serve.predictions import Predictions
from endotransfer.serve.readers import RESAMPLES, compare_readers
from endotransfer.serve.review_state import known_record

DEFAULT = 30


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
    """The model against the images of the plan that were drawn blindly.  `entries`: by name.

    Whoever accepts a mask has seen it: that is agreement, and no measure of accuracy.  A rejected image has no mask to
    measure against, and leaving it out would flatter the model: it counts as not done.
    """
    names = [plain_name(name) for name in plan.images]
    records = {name: known_record(folder, name) for name in names if name in entries}
    decided = {name: version for name, record in records.items() if (version := in_force(record.versions)) is not None}
    blind = [name for name, version in decided.items() if version.blind and version.decision == "corrected"]
    count = Counter(version.decision for name, version in decided.items() if name not in blind)
    scores = Scores(predictions.names)
    for name in blind:
        mask = read_version_mask(folder, name, decided[name], len(predictions.names))
        labels, sample = predictions.labels(entries[name], model), entries[name].sample
        scores.update(labels, resize_labels(mask, labels.shape), key=sample.key, group=sample.group)
    return {
        "planned": len(records),
        "reviewed": len(decided) - count["rejected"],
        "blind": len(blind),
        "rejected": count["rejected"],
        "accepted_unchanged": count["accepted"],
        "corrected_seen": count["corrected"],
        **_figures(scores, predictions.names),
        "level": 95,
        "readers": compare_readers(folder, records, entries, predictions.names),
    }


def _figures(scores: Scores, classes: Sequence[str]) -> dict[str, object]:
    summary = scores.summary(RESAMPLES) if scores.images() else None
    compared = [figure for figure in leading_first(figures(classes)) if figure.compared]
    names, single = [figure.name for figure in compared], {figure.name for figure in compared if not figure.by_class}
    return {
        "figures": summary and {name: summary.figures[name] for name in names},
        "intervals": summary and {name: summary.interval(name) for name in names if name in single},
    }
