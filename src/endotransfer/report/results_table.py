"""The results as a table of the page: a row a system, means over seeds, best and runner-up marked, sortable."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.metrics import FIGURES, Figure, figures
from endotransfer.metrics.figure import legend
from endotransfer.report.benchmark_rows import BY_CLASS, BenchmarkTable, TableRow
from endotransfer.report.benchmark_text import UNSURE, has_mean_intervals, has_printed, mean_interval
from endotransfer.report.csv_file import write_csv
from endotransfer.report.page import Section, fill
from endotransfer.report.ranking import rank, why_unmarked
from endotransfer.report.study import Study

NOTE = "Per cent, on the test images; means over seeds, ± the deviation between them. A click on a head sorts."
MARKS = (
    "Bold: the best, with all that are not told apart from it; underlined: the runner-up, the same among the rest; of "
    "the systems that saw no mask of the target."
)
FEW = 3  # remarks that need not be folded


@dataclass(frozen=True)
class TableCell:
    shown: str = "–"
    value: float | None = None  # what it is sorted by
    mark: str | None = None  # its class: best, runner-up
    aside: str = ""  # in small type behind it


HtmlRow = tuple[str, list[TableCell]]  # label of the system, and its cells


def table_section(study: Study, folder: Path) -> Section:
    """The table of `study`; its figures also as table.csv."""
    table = study.table
    beside = [figure for figure in figures(shown=("page",)) if not figure.by_class]
    means = {figure.label: _means(study.cells, figure.name) for figure in beside}
    extras = {label: values for label, values in means.items() if any(values.values())}
    _write(folder / "table.csv", table, extras)
    heads, rows = html_rows(table, extras)
    notes = [NOTE, *_explained(table, [figure for figure in beside if figure.label in extras])]
    notes += [why_unmarked(table) or MARKS, *_against(table), *table.basis, *_printed(table)]
    remarks = [note for row in table.rows for note in row.notes]
    body = fill("table.html", heads=heads, rows=rows, notes=notes, remarks=remarks, findings=_findings(study), few=FEW)
    return Section("table", "Results", body)


def html_rows(table: BenchmarkTable, extras: dict[str, dict[str, float | None]]) -> tuple[list[str], list[HtmlRow]]:
    """The heads, and for each system the cells under them."""
    marks = rank(table)
    compared = any(row.difference is not None for row in table.rows)
    printed = has_printed(table)
    intervals = has_mean_intervals(table)
    heads = ["system", "seeds", *table.columns.values(), *["mIoU 95 %"] * intervals]
    heads += ["Δ mIoU"] * compared + ["paper"] * printed + [*extras]
    rows: list[HtmlRow] = []
    for row in table.rows:
        cells = [TableCell(str(len(row.seeds)), len(row.seeds))]
        cells += [_figure(row, column, marks.get((row.label, column)), table.decimals) for column in table.columns]
        cells += [TableCell(mean_interval(row))] * intervals
        cells += [_difference(row)] * compared
        cells += [_plain(table.printed_figure(row, "miou"))] * printed
        cells += [
            _plain(None if (value := of.get(row.label)) is None else f"{value:.1f}", value) for of in extras.values()
        ]
        rows.append((row.label, cells))
    return heads, rows


def _figure(row: TableRow, column: str, mark: str | None, decimals: int) -> TableCell:
    figure = row.figures[column]
    if figure is None:
        return TableCell()
    aside = "" if figure.deviation is None else f"± {figure.deviation:.1f}"
    return TableCell(f"{figure.mean:.{decimals}f}", figure.mean, mark, aside)


def _difference(row: TableRow) -> TableCell:
    if row.difference is None:
        return TableCell()
    ends = "" if row.interval is None else f"{row.interval[0]:+.1f} to {row.interval[1]:+.1f}"
    aside = " ".join(filter(None, [ends, "" if row.told_apart else UNSURE]))
    return TableCell(f"{row.difference:+.2f}", row.difference, aside=aside)


def _plain(shown: str | None, value: float | None = None) -> TableCell:
    if shown is None or shown == "-":
        return TableCell()
    return TableCell(shown, float(shown) if value is None else value)


def _explained(table: BenchmarkTable, beside: Sequence[Figure]) -> list[str]:
    columns = [FIGURES.get(column) for column in table.columns if not column.startswith(BY_CLASS)]
    said = legend([*columns, *beside])
    return [f"{said}."] if said else []


def _means(cells: Sequence[BenchmarkCell], name: str) -> dict[str, float | None]:
    """By system, over the seeds that have the figure."""
    values: dict[str, list[float]] = {cell.label: [] for cell in cells}
    for cell in cells:
        value = cell.figure(name)
        if value is not None:
            values[cell.label].append(value)
    return {label: fmean(some) if some else None for label, some in values.items()}


def _findings(study: Study) -> list[str]:
    """What runs found out and their users should know; the page folds many."""
    said = [(cell, remark) for cell in study.cells for remark in cell.results.remarks]
    return [f"{cell.label}, seed {cell.seed}: {remark}" for cell, remark in said]


def _against(table: BenchmarkTable) -> list[str]:
    if all(row.interval is None for row in table.rows):
        return []
    return [f"Δ: against {table.reference}, with its 95 % interval; {UNSURE}: not told apart from it."]


def _printed(table: BenchmarkTable) -> list[str]:
    if not has_printed(table):
        return []
    return ["Paper: the mIoU that it prints for the system, on its own data."]


def _write(path: Path, table: BenchmarkTable, extras: dict[str, dict[str, float | None]]) -> None:
    columns = [name for head in table.columns.values() for name in (head, f"{head} deviation")]
    rows = []
    for row in table.rows:
        figures = [row.figures[column] for column in table.columns]
        pairs = [x for one in figures for x in ((one.mean, one.deviation) if one else (None, None))]
        rows.append([row.label, len(row.seeds), *pairs, row.difference, *(row.interval or (None, None)),
                     *(of.get(row.label) for of in extras.values())])  # fmt: skip
    write_csv(path, ("system", "seeds", *columns, "difference", "low", "high", *extras), rows)
