"""A benchmark's results as rows and columns: means over seeds, the paper's figures, and what went wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev

from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults, SuiteDescription
from endotransfer.compare.decision import told_apart
from endotransfer.compare.label_summary import IntervalBasis, LabelSummary
from endotransfer.compare.seed_summary import reads_target_masks
from endotransfer.metrics import FIGURES, figures
from endotransfer.metrics.summary import Ends
from endotransfer.report.interval_words import basis_of, basis_sentences
from endotransfer.report.printed import PrintedRow, PrintedTable, find_row, find_table, plain
from endotransfer.report.row_notes import row_notes
from endotransfer.results import Results

BY_CLASS = "iou "  # a column of one class is `iou NAME`
CLASS_NAMES = {"trafficlight": "light", "trafficsign": "sign", "vegetation": "veg", "motorcycle": "mbike",
               "motorbike": "mbike", "bicycle": "bike"}  # fmt: skip


@dataclass(frozen=True)
class SeedMean:
    """Over the seeds that have it; a single run has no deviation."""

    mean: float
    deviation: float | None = None
    interval: Ends | None = None  # of the mean


@dataclass(frozen=True)
class TableRow:
    label: str
    figures: dict[str, SeedMean | None]  # by column
    seeds: tuple[int, ...]
    upper_bound: bool  # it read target masks, so it competes with nobody
    group: str  # rows of one group stand together
    printed: PrintedRow | None
    difference: float | None  # of mIoU to the reference
    interval: Ends | None
    told_apart: bool | None  # from the reference; None: there is no difference
    places: dict[str, int]  # by column: 1 best or not told apart from the best, 2 the same among the rest
    ranked: bool  # whether intervals to the leading row are known
    groups: int | None  # of test images, behind the intervals
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
    basis: list[str]  # sentences: what intervals rest on
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
        results.command, basis_sentences(results), _places(columns, printed, by_class),
    )  # fmt: skip


def _row(
    label: str, cells: Sequence[BenchmarkCell], columns: Iterable[str], seeds: Sequence[int],
    printed: PrintedTable | None, summary: LabelSummary | None,
) -> TableRow:  # fmt: skip
    good = [cell for cell in cells if cell.figure("miou") is not None]
    first = cells[0].results if cells else Results(method=label, preset="")
    of_paper = {"method": first.method, "preset": first.preset, "variant": first.variant or ""}
    known = summary or LabelSummary(label=label)
    basis = basis_of(known, cells)
    return TableRow(
        label,
        {column: _mean_of(column, good, known) for column in columns},
        tuple(cell.seed for cell in good),
        reads_target_masks(first.method),
        (cells[0].group if cells else None) or "",
        find_row(printed, label, **of_paper) if printed else None,
        known.difference,
        known.interval,
        None if known.difference is None else told_apart(known.interval, known.differences or IntervalBasis()),
        _standing(columns, known),
        bool(known.standings),
        basis.groups if basis else None,
        row_notes(label, cells, seeds, summary),
    )


def _in_order(rows: Sequence[TableRow]) -> list[TableRow]:
    """As they came, but each group together and upper bounds last."""
    groups = list(dict.fromkeys(row.group for row in rows))
    return sorted(rows, key=lambda row: (row.upper_bound, groups.index(row.group)))


def _columns(suite: SuiteDescription, cells: Sequence[BenchmarkCell]) -> dict[str, str]:
    """Tables 1 and 2 show normal, lesion and mean; without lesions (street scenes) there is a column a class."""
    table = find_table(suite.table)
    classes: Sequence[str] = next((cell.results.classes for cell in cells if cell.results.classes), ())
    known = [figure for figure in figures(classes, shown=("main",)) if not figure.by_class]
    of_lesions = [figure for figure in known if figure.needs == "lesions"]
    measured = any(cell.figure(figure.name) is not None for figure in of_lesions for cell in cells)
    names = classes or (table.columns if table else ())
    if (table and table.number < 3) or measured or not names:
        # A figure of the paper's or a mean keeps its column; one that no run has (an older file) gets none.
        fixed = [figure for figure in known if figure.in_paper or figure.leading]
        had = [figure for figure in known if any(cell.figure(figure.name) is not None for cell in cells)]
        return {figure.name: figure.label for figure in known if figure in fixed or figure in had}
    means = [figure for figure in known if figure.leading and figure.only_for]
    rest = [figure for figure in known if figure not in of_lesions and figure not in means]
    return {f"{BY_CLASS}{name}": name for name in names} | {figure.name: figure.label for figure in [*means, *rest]}


def _figure(column: str) -> str:
    """The name of the column's figure: `iou.NAME` of a class."""
    return column.replace(BY_CLASS, "iou.", 1) if column.startswith(BY_CLASS) else column


def _mean_of(column: str, cells: Sequence[BenchmarkCell], summary: LabelSummary) -> SeedMean | None:
    known = [value for cell in cells if (value := cell.figure(_figure(column))) is not None]
    if not known:
        return None
    interval = summary.intervals.ends.get(_figure(column)) if summary.intervals else None
    return SeedMean(mean(known), stdev(known) if len(known) > 1 else None, interval)


def _standing(columns: Iterable[str], summary: LabelSummary) -> dict[str, int]:
    known = {column: summary.standings.get(_figure(column)) for column in columns}
    return {column: found.place for column, found in known.items() if found is not None and found.place is not None}


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
