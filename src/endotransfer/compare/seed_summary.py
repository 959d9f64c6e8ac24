"""What a table prints of several seeds: mean, deviation, and the difference to the reference with its interval."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from endotransfer.compare.cells import Figures
from endotransfer.compare.image_counts import LEVEL, ImageCounts, check_same_images, paired_differences, statistics
from endotransfer.config.class_lists import further_means
from endotransfer.errors import DataError
from endotransfer.metrics.bootstrap import percentiles
from endotransfer.metrics.percent import percent, percents

FEWEST_SEEDS = 3  # from which on an interval over seeds says anything
Counts = Callable[[Figures], ImageCounts | None]  # a cell -> its images, where they are known

NO_IMAGES = "the per-image scores of some cells are missing"


def summarise(labels: Sequence[str], cells: Sequence[Figures], reference: str | None, counts: Counts,
              resamples: int) -> list[Figures]:  # fmt: skip
    """One object a label that has a finished cell, in the order of `labels`."""
    of_label = {label: [cell for cell in cells if cell["label"] == label] for label in labels}
    base = of_label.get(reference or "", [])
    return [
        _summary(of_label[label], base if label != reference else [], reference, counts, resamples)
        for label in labels
        if of_label[label]
    ]


def _summary(
    cells: Sequence[Figures], base: Sequence[Figures], reference: str | None, counts: Counts, resamples: int
) -> Figures:
    heads = ("label", "group", "same_as", "grid", "method", "preset", "variant")
    flat = [figures_of(cell) for cell in cells]
    values = {name: _known(figures.get(name) for figures in flat) for name in flat[0]}
    differences = _differences(cells, base, reference, counts, resamples) if base else None
    miou = (differences or {}).get("miou") or {}
    return {
        **{key: cells[0][key] for key in heads if key in cells[0]},
        "seeds": [cell["seed"] for cell in cells],
        "mean": {name: float(np.mean(known)) if known else None for name, known in values.items()},
        "deviation": {name: float(np.std(known, ddof=1)) if len(known) > 1 else None for name, known in values.items()},
        "difference": miou.get("mean"),  # of mIoU to the reference, and its interval
        "interval": miou.get("interval"),
        "differences": differences,  # of every figure
    }


def figures_of(cell: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures of a cell that a table prints, by the names of `statistics`."""
    means = ("miou", *further_means(cell.get("classes") or ()))
    named = {name: cell.get(name) for name in (*means, "iou_normal", "iou_lesion", "dice_lesion")}
    return named | {f"iou.{name}": value for name, value in (cell.get("iou") or {}).items()}


def _differences(
    cells: Sequence[Figures], base: Sequence[Figures], reference: str | None, counts: Counts, resamples: int
) -> Figures:
    """Cells are paired by seed; `over` says what the interval was drawn over: images, seeds, or nothing."""
    others = {cell["seed"]: cell for cell in base}
    pairs = [(cell, others[cell["seed"]]) for cell in cells if cell["seed"] in others]
    about = {"against": reference, "seeds": [cell["seed"] for cell, _ in pairs], "level": 100 * LEVEL}
    if not pairs:
        return about | {"over": None, "note": f"no seed of {reference} is finished"}
    known = [(counts(one), counts(other)) for one, other in pairs]
    images = [(a, b) for a, b in known if a is not None and b is not None]
    if len(images) < len(pairs):
        return about | _over_seeds(pairs, NO_IMAGES, resamples)
    try:
        for a, b in images:
            check_same_images(a, b, partial("{} and {}".format, cells[0]["label"], reference))
    except DataError as reason:
        return about | _over_seeds(pairs, str(reason).rstrip("."), resamples)
    return about | {"over": "images", "resamples": resamples} | _over_images(images, resamples)


def _over_images(images: Sequence[tuple[ImageCounts, ImageCounts]], resamples: int) -> Figures:
    differences = paired_differences(images, statistics(images[0][0]), resamples)
    return {
        name: {"mean": percent(difference), "interval": percents(interval)}
        for name, (difference, *interval) in differences.items()
    }


def _over_seeds(pairs: Sequence[tuple[Figures, Figures]], why: str, resamples: int) -> Figures:
    """The fallback where images cannot be paired: seeds are drawn, if there are enough of them."""
    enough = len(pairs) >= FEWEST_SEEDS
    found: Figures = {"over": "seeds", "resamples": resamples, "note": f"{why}; intervals are over seeds"}
    if not enough:
        found = {"over": None, "note": f"{why}, and fewer than {FEWEST_SEEDS} seeds give no interval"}
    draws = np.random.default_rng(0).integers(0, len(pairs), (resamples, len(pairs)))
    for name in figures_of(pairs[0][0]):
        sides = [(figures_of(one).get(name), figures_of(other).get(name)) for one, other in pairs]
        differences = np.array([a - b for a, b in sides if a is not None and b is not None])
        if len(differences) == len(pairs):
            interval = list(percentiles(differences[draws].mean(1), LEVEL)) if enough else None
            found[name] = {"mean": float(differences.mean()), "interval": interval}
    return found


def _known(values: Any) -> list[float]:
    return [value for value in values if value is not None]
