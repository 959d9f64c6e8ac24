"""The sensitivity of a method to its settings: every point of a grid is a row of a benchmark."""

import csv
import io
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endotransfer.compare.cells import digest_of
from endotransfer.compare.label_summary import LabelSummary
from endotransfer.compare.suite import Suite, read_mapping_with_phantom, suite_from
from endotransfer.compare.sweep_matrix import Grid, SweepMatrix, swept_figures
from endotransfer.compare.system_row import SystemRow
from endotransfer.config.strict import RawConfig
from endotransfer.errors import ConfigError
from endotransfer.io import parse_yaml
from endotransfer.metrics import FIGURES
from endotransfer.spreadsheet import safe_cell

SECTIONS = ("model", "training")  # `training.lr`; a key without a dot is the method's own
MOST_POINTS = 1000


def read_grid(texts: Sequence[str]) -> Grid:
    """`mu=1,10` and `eta=0.1,0.3` -> the values of each key, read as YAML."""
    grid: Grid = {}
    for text in texts:
        key, equals, values = text.partition("=")
        try:
            listed = parse_yaml(f"[{values}]", f"--grid {text}", ConfigError, "quote its values")
        except ConfigError:
            listed = None
        if (
            not key
            or not equals
            or not isinstance(listed, list)
            or not listed
            or len({*map(str, listed)}) < len(listed)
        ):
            raise ConfigError(f"--grid {text} is not of the form key=a,b,c with distinct values; write mu=1,10,100.")
        if key in grid:
            raise ConfigError(f"--grid {key} is given twice; name all its values in one.")
        grid[key] = listed
    if not grid:
        raise ConfigError("a sweep needs at least one --grid key=a,b,c.")
    return grid


def read_sweep(path: Path | str, grid: Grid, overrides: list[str] | None = None, system: str | None = None) -> Suite:
    """The task of an experiment's or suite's file with the points of `grid` for rows.

    They vary the file's `method`, or that of the row called `system`.  Intervals are against the point that changes
    nothing, where it is in the grid.
    """
    raw, folder = read_mapping_with_phantom(Path(path), overrides)
    if system is not None:
        base = row_called(suite_from(raw, folder, str(path)), system)
    elif raw.get("method") is not None:
        base = SystemRow("method", {"name": raw["method"]} if isinstance(raw["method"], str) else dict(raw["method"]))
    else:
        raise ConfigError(f"{path} has no `method` to sweep; add one, or name a system of it with --system.")
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(points) > MOST_POINTS:
        raise ConfigError(f"the grid has {len(points)} points; a sweep takes at most {MOST_POINTS}.")
    raw = {**raw, "systems": [entry_of(base, point) for point in points], "reference": None, "table": None}
    suite = suite_from(raw, folder, str(path))
    return suite.with_reference(_unchanged(suite, base))


def as_csv(grid: Grid, summary: Sequence[LabelSummary]) -> str:
    """One line a finished point: its coordinates, its seeds, mean and deviation of each figure."""
    names, text = [figure.name for figure in swept_figures()], io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*grid, "seeds", *(f"{name}{kind}" for name in names for kind in ("", "_deviation"))])
    for entry in summary:
        figures = [some.get(name) for name in names for some in (entry.mean, entry.deviation)]
        shown = ["" if value is None else f"{value:.4f}" for value in figures]
        point = entry.grid or {}
        table.writerow([*(safe_cell(point.get(key)) for key in grid), len(entry.seeds), *shown])
    return text.getvalue()


def row_called(suite: Suite, label: str) -> SystemRow:
    for row in suite.rows:
        if row.label == label:
            return row
    raise ConfigError(f"no system is called '{label}'; there are {', '.join(row.label for row in suite.rows)}.")


def entry_of(base: SystemRow, point: RawConfig) -> RawConfig:
    """A point as an entry of `systems`."""
    entry: RawConfig = {**base.method, "model": dict(base.model), "training": dict(base.training)}
    for key, value in point.items():
        section, dot, field = key.rpartition(".")
        if dot and section not in SECTIONS:
            raise ConfigError(f"--grid {key}: a sweep varies keys of the method, of model and of training.")
        if not dot and key in ("name", "label", "group", "same_as", "grid"):
            raise ConfigError(f"--grid {key}: that is no setting of a method; use `benchmark` to compare systems.")
        (entry[section] if dot else entry)[field] = value
    label = ",".join(f"{key}={value}" for key, value in point.items())
    return {**entry, "label": label, "grid": point}


def _unchanged(suite: Suite, base: SystemRow) -> str | None:
    phantom = Path("phantom")
    wanted = digest_of(suite.experiment(base, suite.seed, phantom))
    same = (row.label for row in suite.rows if digest_of(suite.experiment(row, suite.seed, phantom)) == wanted)
    return next(same, None)


def print_sweep(matrix: SweepMatrix, console: Console) -> None:
    """mIoU by two keys; of one key a column, of more a line a point."""
    mean = FIGURES.get("miou")
    *outer, last = matrix.keys
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for head in [*outer, *map(str, matrix.values[last])]:
        table.add_column(escape(head), justify="right", no_wrap=True)
    for point in product(*(range(len(matrix.values[key])) for key in outer)):
        line = matrix.means[mean.name]
        for place in point:
            assert isinstance(line, list)
            line = line[place]
        assert isinstance(line, list)
        names = [escape(str(matrix.values[key][place])) for key, place in zip(outer, point, strict=True)]
        table.add_row(*names, *(f"{value:.2f}" if isinstance(value, float) else "-" for value in line))
    console.print(f"{mean.label}, per cent; across: {last}", markup=False, highlight=False, soft_wrap=True)
    console.print(table)
