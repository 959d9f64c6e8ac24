"""A benchmark's table in Markdown: a row a system, the paper's figures beside ours (below ours, with many classes)."""

from endotransfer.report.benchmark_rows import BY_CLASS, BenchmarkTable, TableRow
from endotransfer.report.benchmark_text import (
    against,
    footnotes,
    has_mean_intervals,
    has_printed,
    legend,
    marks_of,
    mean_interval,
    provenance,
    shown,
)
from endotransfer.report.ranking import Mark, rank

MARKS: dict[Mark | None, str] = {"best": "**{}**", "second": "*{}*", None: "{}"}


def to_markdown(table: BenchmarkTable) -> str:
    heads, rows = _heads(table), [line for row in table.rows for line in _lines(table, row)]
    cells = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    notes = [f"[{letter}] {sentence}" for letter, sentence in footnotes(table).items()]
    below = filter(None, [*notes, *legend(table, "**bold**", "*italic*"), provenance(table)])
    return "\n".join([f"# {table.name}", "", *map(_line, cells), "", "  \n".join(below)]) + "\n"


def _heads(table: BenchmarkTable) -> list[str]:
    columns = [_escape(head) for head in table.columns.values()]
    heads = ["system", *columns, *["mIoU 95 %"] * has_mean_intervals(table), "seeds"]
    if table.reference:
        heads.append(f"against {_escape(table.reference)}")
    beside = has_printed(table) and not table.by_class
    return heads + [f"paper {_escape(head)}" for head in table.printed_columns.values() if beside]


def _lines(table: BenchmarkTable, row: TableRow) -> list[list[str]]:
    """A system's line and, where classes are columns, the paper's line below it."""
    means = [mean_interval(row)] * has_mean_intervals(table)
    ours = [_name(table, row), *_figures(table, row), *means, str(len(row.seeds))]
    if table.reference:
        ours.append(against(table, row))
    if not has_printed(table):
        return [ours]
    columns = list(table.columns if table.by_class else table.printed_columns)
    theirs = [table.printed_figure(row, column) for column in columns]
    theirs[columns.index("miou")] += _bracketed(marks_of(table, row, of_paper=True))
    if not table.by_class:
        return [ours + theirs]
    if row.printed is None:
        return [ours]
    return [ours, [f"paper: {row.printed.label}", *theirs, *[""] * (len(ours) - len(theirs) - 1)]]


def _name(table: BenchmarkTable, row: TableRow) -> str:
    bound = " (upper bound)" if row.upper_bound else ""
    return _escape(row.label) + bound + _bracketed(marks_of(table, row, of_paper=False))


def _figures(table: BenchmarkTable, row: TableRow) -> list[str]:
    marks = rank(table)
    cells = []
    for column in table.columns:
        figure = row.figures[column]
        text = shown(figure, table.decimals)
        if column.startswith(BY_CLASS):
            text = text.partition(" ")[0]  # nineteen deviations would not be read; table.csv has them
        cells.append(MARKS[marks.get((row.label, column))].format(text))
    return cells


def _bracketed(letters: str) -> str:
    return f" [{letters}]" if letters else ""


def _escape(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "|*_<`[]\\" else sign for sign in text)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
