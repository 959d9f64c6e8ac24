"""What a table prints of several seeds: means and differences to the reference with intervals, and who stands where."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.compare.compared_figures import compared_figures, figures_of
from endotransfer.compare.drawn_figures import DrawnFigures
from endotransfer.compare.label_summary import Differences, LabelSummary, MeanIntervals
from endotransfer.compare.seed_pairs import MeasuredRow, SeedPairs, SeedRun
from endotransfer.compare.standings import Signs, standings
from endotransfer.compare.task_settings import Flat, odd_settings
from endotransfer.methods import METHODS

Drawn = Callable[[BenchmarkCell], DrawnFigures | None]  # a cell -> its figures on draws of its images, where known
Cells = Sequence[BenchmarkCell]


def summarise_seeds(labels: Sequence[str], cells: Cells, reference: str | None, drawn: Drawn) -> list[LabelSummary]:
    """One object a label that has a finished cell, in the order of `labels`."""
    of_label = {label: some for label in labels if (some := [cell for cell in cells if cell.label == label])}
    rows = {label: _measured(label, some, drawn) for label, some in of_label.items()}
    places = standings(list(rows.values()), _signs(cells))
    odd = odd_settings({label: _compared(some) for label, some in of_label.items()})
    base = rows.get(reference or "")
    return [
        LabelSummary.model_validate(
            {
                **_identity(some),
                **_over_seeds(rows[label]),
                **_against(rows[label], base if label != reference else None),
                "standings": places[label],
                **({"settings": odd[label]} if label in odd else {}),
            }
        )
        for label, some in of_label.items()
    ]


def reads_target_masks(method: str) -> bool:
    """Whether it is an upper bound, which competes with nobody."""
    return method in METHODS.names() and METHODS.get(method).needs.masks_of_target


def _measured(label: str, cells: Cells, drawn: Drawn) -> MeasuredRow:
    runs = [SeedRun(cell.seed, figures_of(cell.results), drawn(cell)) for cell in cells]
    return MeasuredRow(label, runs, ranked=not reads_target_masks(cells[0].results.method))


def _signs(cells: Cells) -> Signs:
    classes = next((cell.results.classes for cell in cells if cell.results.classes), [])
    return {name: figure.sign for name, figure in compared_figures(classes).items()}


def _compared(cells: Cells) -> list[Flat]:
    """Of each cell whose settings are known those in which rows should agree; what a sweep varies is not among them."""
    known = [(cell.settings, cell.grid or {}) for cell in cells if cell.settings is not None]
    return [{place: value for place, value in own.items() if place not in grid} for own, grid in known]


def _identity(cells: Cells) -> dict[str, object]:
    first = cells[0]
    row = {"group": first.group, "same_as": first.same_as, "grid": first.grid}
    return {
        "label": first.label,
        **{key: value for key, value in row.items() if value is not None},
        "method": first.results.method,
        "preset": first.results.preset,
        "variant": first.results.variant,
        "seeds": [cell.seed for cell in cells],
    }


def _over_seeds(row: MeasuredRow) -> dict[str, object]:
    values = {name: _known(run.figures.get(name) for run in row.runs) for name in row.runs[0].figures}
    pairs = SeedPairs.of_row(row)
    ends = {name: found.interval for name, found in pairs.estimates(values).items()}
    return {
        "mean": {name: float(np.mean(known)) if known else None for name, known in values.items()},
        "deviation": {name: float(np.std(known, ddof=1)) if len(known) > 1 else None for name, known in values.items()},
        "intervals": MeanIntervals.model_validate({**_set_fields(pairs), "ends": ends}),
    }


def _against(row: MeasuredRow, base: MeasuredRow | None) -> dict[str, object]:
    if base is None:
        return {"difference": None, "interval": None, "differences": None}
    pairs = SeedPairs.of_rows(row, base)
    found = {name: one for name, one in pairs.estimates(row.runs[0].figures).items() if one.mean is not None}
    miou = found.get("miou")
    return {
        "difference": miou and miou.mean,  # of mIoU to the reference, and its interval
        "interval": miou and miou.interval,
        "differences": Differences.model_validate({"against": base.label, **_set_fields(pairs), "figures": found}),
    }


def _set_fields(pairs: SeedPairs) -> dict[str, object]:
    return {name: getattr(pairs.basis, name) for name in pairs.basis.model_fields_set}


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
