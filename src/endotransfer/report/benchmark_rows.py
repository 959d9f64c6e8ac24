"""A benchmark's results as rows and columns: means over seeds, the paper's figures, and what went wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from endotransfer.config.class_lists import further_means
from endotransfer.methods import METHODS
from endotransfer.report.printed import PrintedRow, PrintedTable, find_row, find_table, plain
from endotransfer.results import Results

LESION_COLUMNS = {"iou_normal": "IoU n", "iou_lesion": "IoU d", "miou": "mIoU"}
CLASS_NAMES = {"trafficlight": "light", "trafficsign": "sign", "vegetation": "veg", "motorcycle": "mbike",
               "motorbike": "mbike", "bicycle": "bike"}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """Over the seeds that have it; a single run has no deviation."""

    mean: float
    deviation: float | None = None


@dataclass(frozen=True)
class TableRow:
    label: str
    figures: dict[str, Figure | None]  # by column
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
    columns: dict[str, str]  # key -> heading; the last is the mean
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


def read_table(results: dict[str, Any]) -> BenchmarkTable:
    """The content of a benchmark's `results.json`, ready to be drawn.  What a key does not say is worked out."""
    suite, cells = results.get("suite") or {}, list(results.get("cells") or [])
    columns = _columns(suite, cells)
    by_class = "iou_lesion" not in columns
    printed = find_table(suite.get("table"))
    summary = {entry.get("label"): entry for entry in results.get("summary") or []}
    seeds = sorted({int(cell.get("seed", 0)) for cell in cells})
    labels = dict.fromkeys([*_labels(suite.get("systems")), *map(label_of, cells), *filter(None, summary)])
    reference = str(suite.get("reference") or "")
    rows = [
        _row(label, [cell for cell in cells if label_of(cell) == label], columns, seeds, printed, summary.get(label))
        for label in labels
    ]
    return BenchmarkTable(
        str(suite.get("name") or "benchmark"), columns, _in_order(rows), by_class,
        reference, printed, _dates(cells) or str(results.get("date") or ""), str(results.get("command") or ""),
        _places(columns, printed, by_class),
    )  # fmt: skip


def label_of(cell: dict[str, Any]) -> str:
    if cell.get("label"):
        return str(cell["label"])
    variant = cell.get("variant")
    system = Results(method=cell["method"], preset=cell.get("preset") or "default").system
    return system + (f" {variant}" if variant else "")


def _row(
    label: str, cells: Sequence[dict[str, Any]], columns: Iterable[str], seeds: Sequence[int],
    printed: PrintedTable | None, summary: dict[str, Any] | None,
) -> TableRow:  # fmt: skip
    good = [cell for cell in cells if cell.get("miou") is not None]
    first = cells[0] if cells else {"label": label, "method": label}
    of_paper = {key: str(first.get(key) or "") for key in ("method", "preset", "variant")}
    difference, interval = _against_reference(summary or {})
    return TableRow(
        label,
        {column: _figure([_value(cell, column) for cell in good]) for column in columns},
        tuple(int(cell.get("seed", 0)) for cell in good),
        _reads_target_masks(str(first.get("method"))),
        str(first.get("group") or ""),
        find_row(printed, label, **of_paper) if printed else None,
        difference,
        interval,
        (*_faults(label, cells, seeds), *_doubts(summary or {})),
    )


def _in_order(rows: Sequence[TableRow]) -> list[TableRow]:
    """As they came, but each group together and upper bounds last."""
    groups = list(dict.fromkeys(row.group for row in rows))
    return sorted(rows, key=lambda row: (row.upper_bound, groups.index(row.group)))


def _reads_target_masks(method: str) -> bool:
    return method in METHODS.names() and METHODS.get(method).needs.masks_of_target


def _faults(label: str, cells: Sequence[dict[str, Any]], seeds: Sequence[int]) -> Iterable[str]:
    """Why a figure is missing, or stands on fewer runs than its neighbours."""
    for cell in cells:
        if cell.get("miou") is None:
            reason = " ".join(str(cell.get("error") or "no figures").split()).rstrip(".")
            yield f"{label}, seed {cell.get('seed', 0)}: failed ({reason})."
    there = {int(cell.get("seed", 0)) for cell in cells}
    if not there:
        yield f"{label}: not run yet."
    for same_as in dict.fromkeys(cell.get("same_as") for cell in cells):
        if same_as:
            yield f"{label}: the same runs as {same_as}."
    if there and (missing := [str(seed) for seed in seeds if seed not in there]):
        yield f"{label}: seed {', '.join(missing)} not run yet."


def _columns(suite: dict[str, Any], cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Tables 1 and 2 show normal, lesion and mean; without lesions (street scenes) there is a column a class."""
    table = find_table(suite.get("table"))
    if (table and table.number < 3) or any(cell.get("iou_lesion") is not None for cell in cells):
        return LESION_COLUMNS
    of_paper = table.columns if table else ()
    classes = next((cell["classes"] for cell in cells if cell.get("classes")), of_paper)
    if not classes:
        return LESION_COLUMNS
    means = {name: f"mIoU {len(some)}" for name, some in further_means(classes).items()}
    return {f"iou {name}": name for name in classes} | means | {"miou": "mIoU"}


def _value(cell: dict[str, Any], column: str) -> float | None:
    if not column.startswith("iou "):
        return cell.get(column)
    by_class, name = cell.get("iou") or {}, column.removeprefix("iou ")
    if not isinstance(by_class, dict):
        by_class = dict(zip(cell["classes"], by_class, strict=True))
    return by_class.get(name)


def _figure(values: Sequence[float | None]) -> Figure | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Figure(mean(known), stdev(known) if len(known) > 1 else None)


def _against_reference(entry: dict[str, Any]) -> tuple[float | None, tuple[float, float] | None]:
    """(difference, (low, high)) of mIoU to the reference, where the summary has them."""
    ends = entry.get("interval")
    return entry.get("difference"), (float(ends[0]), float(ends[1])) if ends else None


def _doubts(entry: dict[str, Any]) -> Iterable[str]:
    """Why an interval is not the usual one, drawn over images."""
    about = entry.get("differences") or {}
    if about.get("note"):
        yield f"Against {about.get('against')}: {about['note']}."


def _dates(cells: Sequence[dict[str, Any]]) -> str:
    """The day of the runs, or the first and the last."""
    days = sorted({str(cell["date"]) for cell in cells if cell.get("date")})
    return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))


def _labels(systems: Any) -> list[str]:
    """Names of the systems a suite asks for; entries are names, or mappings with a `label`."""
    names = [entry.get("label") if isinstance(entry, dict) else entry for entry in systems or []]
    return [str(name) for name in names if name]


def _places(columns: dict[str, str], printed: PrintedTable | None, by_class: bool) -> dict[str, int]:
    """Which of our columns is which of the paper's."""
    if printed is None:
        return {}
    if not by_class:
        return {"iou_normal": 0, "iou_lesion": 1} if printed.number < 3 else {}
    names = {plain(name): place for place, name in enumerate(printed.columns)} if printed.number > 2 else {}
    found = {column: CLASS_NAMES.get(plain(head), plain(head)) for column, head in columns.items()}
    return {column: names[name] for column, name in found.items() if name in names}
