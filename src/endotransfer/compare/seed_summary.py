"""What a table prints of several seeds: mean, deviation, and the difference to the reference with its interval."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.compare.image_counts import LEVEL, ImageCounts, check_same_images, paired_differences, statistics
from endotransfer.compare.label_summary import Differences, FigureDifference, LabelSummary
from endotransfer.errors import DataError
from endotransfer.metrics.bootstrap import percentiles
from endotransfer.metrics.figure import figures, leading_first
from endotransfer.metrics.percent import percent, percents
from endotransfer.metrics.summary import Ends
from endotransfer.results import Results

FEWEST_SEEDS = 3  # from which on an interval over seeds says anything
Counts = Callable[[BenchmarkCell], ImageCounts | None]  # a cell -> its images, where they are known
CellPair = tuple[BenchmarkCell, BenchmarkCell]

NO_IMAGES = "the per-image scores of some cells are missing"


def summarise_seeds(
    labels: Sequence[str], cells: Sequence[BenchmarkCell], reference: str | None, counts: Counts, resamples: int
) -> list[LabelSummary]:
    """One object a label that has a finished cell, in the order of `labels`."""
    of_label = {label: [cell for cell in cells if cell.label == label] for label in labels}
    base = of_label.get(reference or "", [])
    return [
        _summary(of_label[label], base if label != reference else [], reference, counts, resamples)
        for label in labels
        if of_label[label]
    ]


def _summary(
    cells: Sequence[BenchmarkCell],
    base: Sequence[BenchmarkCell],
    reference: str | None,
    counts: Counts,
    resamples: int,
) -> LabelSummary:
    first, named = cells[0], [figures_of(cell.results) for cell in cells]
    values = {name: _known(some.get(name) for some in named) for name in named[0]}
    differences = _differences(cells, base, reference, counts, resamples) if base else None
    miou = differences.figures.get("miou") if differences else None
    row = {"group": first.group, "same_as": first.same_as, "grid": first.grid}
    identity = {"method": first.results.method, "preset": first.results.preset, "variant": first.results.variant}
    return LabelSummary.model_validate(
        {
            "label": first.label,
            **{key: value for key, value in row.items() if value is not None},
            **identity,
            "seeds": [cell.seed for cell in cells],
            "mean": {name: float(np.mean(known)) if known else None for name, known in values.items()},
            "deviation": {
                name: float(np.std(known, ddof=1)) if len(known) > 1 else None for name, known in values.items()
            },
            "difference": miou and miou.mean,  # of mIoU to the reference, and its interval
            "interval": miou and miou.interval,
            "differences": differences,  # of every figure
        }
    )


def figures_of(results: Results) -> dict[str, float | None]:
    """The figures that systems are compared by, by the names of `statistics`."""
    known = [figure for figure in leading_first(figures(results.classes)) if figure.compared]
    named = {figure.name: results.figure(figure.name) for figure in known if not figure.by_class}
    for figure in known:
        by_class = results.figures.get(figure.name)
        if figure.by_class and isinstance(by_class, dict):
            named |= {f"{figure.name}.{name}": results.figure(f"{figure.name}.{name}") for name in by_class}
    return named


def _differences(
    cells: Sequence[BenchmarkCell],
    base: Sequence[BenchmarkCell],
    reference: str | None,
    counts: Counts,
    resamples: int,
) -> Differences:
    """Cells are paired by seed; `over` says what the interval was drawn over: images, seeds, or nothing."""
    others = {cell.seed: cell for cell in base}
    pairs = [(cell, others[cell.seed]) for cell in cells if cell.seed in others]
    about = Differences(against=reference, seeds=[cell.seed for cell, _ in pairs], level=100 * LEVEL)
    if not pairs:
        return about.model_copy(update={"over": None, "note": f"no seed of {reference} is finished"})
    known = [(counts(one), counts(other)) for one, other in pairs]
    images = [(a, b) for a, b in known if a is not None and b is not None]
    if len(images) < len(pairs):
        return about.model_copy(update=_over_seeds(pairs, NO_IMAGES, resamples))
    try:
        for a, b in images:
            check_same_images(a, b, partial("{} and {}".format, cells[0].label, reference))
    except DataError as reason:
        return about.model_copy(update=_over_seeds(pairs, str(reason).rstrip("."), resamples))
    found = _over_images(images, resamples)
    return about.model_copy(update={"over": "images", "resamples": resamples, "figures": found})


def _over_images(images: Sequence[tuple[ImageCounts, ImageCounts]], resamples: int) -> dict[str, FigureDifference]:
    differences = paired_differences(images, statistics(images[0][0]), resamples)
    return {
        name: FigureDifference(mean=percent(difference), interval=_pair(percents(interval)))
        for name, (difference, *interval) in differences.items()
    }


def _over_seeds(pairs: Sequence[CellPair], why: str, resamples: int) -> dict[str, object]:
    """The fallback where images cannot be paired: seeds are drawn, if there are enough of them."""
    enough = len(pairs) >= FEWEST_SEEDS
    about: dict[str, object] = {"over": "seeds", "resamples": resamples, "note": f"{why}; intervals are over seeds"}
    if not enough:
        about = {"over": None, "note": f"{why}, and fewer than {FEWEST_SEEDS} seeds give no interval"}
    draws = np.random.default_rng(0).integers(0, len(pairs), (resamples, len(pairs)))
    found = {}
    for name in figures_of(pairs[0][0].results):
        sides = [(figures_of(one.results).get(name), figures_of(other.results).get(name)) for one, other in pairs]
        differences = np.array([a - b for a, b in sides if a is not None and b is not None])
        if len(differences) == len(pairs):
            interval = percentiles(differences[draws].mean(1), LEVEL) if enough else None
            found[name] = FigureDifference(mean=float(differences.mean()), interval=interval)
    return {**about, "figures": found}


def _pair(ends: Sequence[float] | None) -> Ends | None:
    return None if ends is None else (ends[0], ends[1])


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
