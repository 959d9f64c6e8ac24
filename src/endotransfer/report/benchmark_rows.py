"""A benchmark's results as rows and columns: means over seeds, the paper's figures, and what went wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev

from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults, SuiteDescription
from endotransfer.compare.label_summary import LabelSummary
from endotransfer.methods import METHODS
from endotransfer.metrics import FIGURES, figures
from endotransfer.report.printed import PrintedRow, PrintedTable, find_row, find_table, plain
from endotransfer.results import Results

BY_CLASS = "iou "  # a column of one class is `iou NAME`
CLASS_NAMES = {"trafficlight": "light", "trafficsign": "sign", "vegetation": "veg", "motorcycle": "mbike",
               "motorbike": "mbike", "bicycle": "bike"}  # fmt: skip


@dataclass(frozen=True)
class SeedMean:
    """Over the seeds that have it; a single run has no deviation."""

    mean: float
    deviation: float | None = None


@dataclass(frozen=True)
class TableRow:
    label: str
    figures: dict[str, SeedMean | None]  # by column
    seeds: tuple[int, ...]
    upper_bound: bool  # it read target masks, so it competes with nobody
    group: str  # rows of one group stand together
    printed: PrintedRow | None
    difference: float | None  # of mIoU to the reference
    interval: tuple[float, float] | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class BenchmarkTable:
    name: str
    columns: dict[str, str]  # key -> heading; of a class `iou NAME`
    rows: list[TableRow]  # upper bounds last
    by_class: bool  # street scenes: a column a class
    reference: str
    printed: PrintedTable | None
    date: str  # of the runs, "" where unknown
    command: str  # "" where unknown
    _places: dict[str, int] = field(default_factory=dict)  # column -> place in the printed row

    @property
    def decimals(self) -> int:
        return 1 if self.by_class else 2  # as the paper prints them

    @property
    def printed_columns(self) -> dict[str, str]:
        """Those that the paper has as well."""
        theirs = (key for key in self.columns if key.startswith(BY_CLASS) or FIGURES.get(key).in_paper)
        return {key: self.columns[key] for key in theirs}

    def printed_figure(self, row: TableRow, column: str) -> str:
        """What the paper prints there; a dash where it prints nothing."""
        if row.printed is None:
            return "-"
        place = self._places.get(column)
        value = None if place is None else row.printed.figures[place]
        if column == "miou" and self._same_mean:
            value = row.printed.mean
        return "-" if value is None else str(value)

    @property
    def _same_mean(self) -> bool:
        """Whether the paper's mean is over the columns of this table: one over 16 classes is none over 13."""
        assert self.printed is not None
        return not self.by_class or len(self._places) == len(self.printed.columns)


def read_table(results: BenchmarkResults) -> BenchmarkTable:
    """A benchmark's results, ready to be drawn.  What a key does not say is worked out."""
    suite, cells = results.suite, results.cells
    columns = _columns(suite, cells)
    by_class = any(column.startswith(BY_CLASS) for column in columns)
    printed = find_table(suite.table)
    summary = {entry.label: entry for entry in results.summary}
    seeds = sorted({cell.seed for cell in cells})
    labels = dict.fromkeys([*suite.systems, *(cell.label for cell in cells), *summary])
    rows = [
        _row(label, [cell for cell in cells if cell.label == label], columns, seeds, printed, summary.get(label))
        for label in labels
    ]
    return BenchmarkTable(
        suite.name, columns, _in_order(rows), by_class, suite.reference or "", printed, _dates(cells) or results.date,
        results.command, _places(columns, printed, by_class),
    )  # fmt: skip


def _row(
    label: str, cells: Sequence[BenchmarkCell], columns: Iterable[str], seeds: Sequence[int],
    printed: PrintedTable | None, summary: LabelSummary | None,
) -> TableRow:  # fmt: skip
    good = [cell for cell in cells if cell.figure("miou") is not None]
    first = cells[0].results if cells else Results(method=label, preset="")
    of_paper = {"method": first.method, "preset": first.preset, "variant": first.variant or ""}
    return TableRow(
        label,
        {column: _mean_of([_value(cell.results, column) for cell in good]) for column in columns},
        tuple(cell.seed for cell in good),
        _reads_target_masks(first.method),
        (cells[0].group if cells else None) or "",
        find_row(printed, label, **of_paper) if printed else None,
        summary.difference if summary else None,
        summary.interval if summary else None,
        (*_faults(label, cells, seeds), *_doubts(summary)),
    )


def _in_order(rows: Sequence[TableRow]) -> list[TableRow]:
    """As they came, but each group together and upper bounds last."""
    groups = list(dict.fromkeys(row.group for row in rows))
    return sorted(rows, key=lambda row: (row.upper_bound, groups.index(row.group)))


def _reads_target_masks(method: str) -> bool:
    return method in METHODS.names() and METHODS.get(method).needs.masks_of_target


def _faults(label: str, cells: Sequence[BenchmarkCell], seeds: Sequence[int]) -> Iterable[str]:
    """Why a figure is missing, or stands on fewer runs than its neighbours."""
    for cell in cells:
        if cell.figure("miou") is None:
            reason = " ".join((cell.error or "no figures").split()).rstrip(".")
            yield f"{label}, seed {cell.seed}: failed ({reason})."
    there = {cell.seed for cell in cells}
    if not there:
        yield f"{label}: not run yet."
    for same_as in dict.fromkeys(cell.same_as for cell in cells):
        if same_as:
            yield f"{label}: the same runs as {same_as}."
    if there and (missing := [str(seed) for seed in seeds if seed not in there]):
        yield f"{label}: seed {', '.join(missing)} not run yet."


def _columns(suite: SuiteDescription, cells: Sequence[BenchmarkCell]) -> dict[str, str]:
    """Tables 1 and 2 show normal, lesion and mean; without lesions (street scenes) there is a column a class."""
    table = find_table(suite.table)
    classes: Sequence[str] = next((cell.results.classes for cell in cells if cell.results.classes), ())
    known = [figure for figure in figures(classes, shown=("main",)) if not figure.by_class]
    of_lesions = [figure for figure in known if figure.needs == "lesions"]
    measured = any(cell.figure(figure.name) is not None for figure in of_lesions for cell in cells)
    names = classes or (table.columns if table else ())
    if (table and table.number < 3) or measured or not names:
        return {figure.name: figure.label for figure in known}
    means = [figure for figure in known if figure.leading and figure.only_for]
    rest = [figure for figure in known if figure not in of_lesions and figure not in means]
    return {f"{BY_CLASS}{name}": name for name in names} | {figure.name: figure.label for figure in [*means, *rest]}


def _value(results: Results, column: str) -> float | None:
    return results.figure(column.replace(BY_CLASS, "iou.", 1) if column.startswith(BY_CLASS) else column)


def _mean_of(values: Sequence[float | None]) -> SeedMean | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return SeedMean(mean(known), stdev(known) if len(known) > 1 else None)


def _doubts(entry: LabelSummary | None) -> Iterable[str]:
    """Why an interval is not the usual one, drawn over images."""
    about = entry.differences if entry else None
    if about and about.note:
        yield f"Against {about.against}: {about.note}."


def _dates(cells: Sequence[BenchmarkCell]) -> str:
    """The day of the runs, or the first and the last."""
    days = sorted({cell.results.date for cell in cells if cell.results.date})
    return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))


def _places(columns: dict[str, str], printed: PrintedTable | None, by_class: bool) -> dict[str, int]:
    """Which of our columns is which of the paper's."""
    if printed is None:
        return {}
    if not by_class:
        theirs = [column for column in columns if FIGURES.get(column).in_paper and not FIGURES.get(column).leading]
        return {column: place for place, column in enumerate(theirs)} if printed.number < 3 else {}
    names = {plain(name): place for place, name in enumerate(printed.columns)} if printed.number > 2 else {}
    found = {column: CLASS_NAMES.get(plain(head), plain(head)) for column, head in columns.items()}
    return {column: names[name] for column, name in found.items() if name in names}
