"""A benchmark's table in LaTeX, laid out as the paper lays out its own: in Tables 1 and 2 a column a system, in the
street tables a row a system; best in bold red, runner-up in blue."""

from itertools import pairwise

from endotransfer.metrics import FIGURES
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

MARKS: dict[Mark | None, str] = {
    "best": r"\textcolor{{red}}{{\textbf{{{}}}}}",
    "second": r"\textcolor{{blue}}{{{}}}",
    None: "{}",
}
MEAN_INTERVAL = r"mIoU 95~\%"
SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "±": r"$\pm$", "·": r"$\cdot$",
}  # fmt: skip


def to_latex(table: BenchmarkTable) -> str:
    r"""A `table*` to be read by \input; it needs graphicx (for \resizebox) and xcolor, nothing else."""
    body = _systems_as_rows(table) if table.by_class else _systems_as_columns(table)
    notes = [rf"[{letter}] {escape(sentence)}" for letter, sentence in footnotes(table).items()]
    words = [escape(line.replace("`", "")) for line in legend(table, "bold red", "blue")]
    return "\n".join(
        [
            r"% \usepackage{graphicx}, \usepackage{xcolor}",
            f"% {' '.join(provenance(table).split())}".rstrip(),
            r"\begin{table*}[t]",
            r"\centering",
            r"\resizebox{\textwidth}{!}{%",
            *body,
            "}",
            *(rf"\par\smallskip{{\footnotesize {note}\par}}" for note in notes),
            rf"\caption{{{escape(table.name)}. {' '.join(words)}}}",
            r"\end{table*}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Any text as LaTeX prints it."""
    return "".join(SPECIAL.get(sign, sign) for sign in text)


def _systems_as_columns(table: BenchmarkTable) -> list[str]:
    """Tables 1 and 2: the metrics are rows, ours first, then the paper's."""
    heads = ["Metrics", *(_name(table, row) for row in table.rows)]
    ours = [[_head(column), *(_figure(table, row, column) for row in table.rows)] for column in table.columns]
    if has_mean_intervals(table):
        ours.append([MEAN_INTERVAL, *(mean_interval(row) for row in table.rows)])
    ours.append(["seeds", *(str(len(row.seeds)) for row in table.rows)])
    if table.reference:
        name = escape(table.reference)
        ours.append([f"mIoU against {name}", *(escape(against(table, row)) for row in table.rows)])
    theirs = []
    if has_printed(table):
        for column in table.printed_columns:
            theirs.append([f"paper {_head(column)}", *(_printed(table, row, column) for row in table.rows)])
    bars = "|c" + "".join("||c" if row.upper_bound else "|c" for row in table.rows) + "|"
    return _tabular(bars, [heads], ours, theirs)


def _head(column: str) -> str:
    """The label of a figure with its unit; a last letter of its own (`IoU n`) is a subscript, as in the paper."""
    figure = FIGURES.get(column)
    name, _, letter = figure.label.rpartition(" ")
    shown = rf"$\mathrm{{{escape(name)}}}_{letter}$" if name and len(letter) == 1 else escape(figure.label)
    return shown + (r"($\%$)" if figure.unit == "%" else "")


def _systems_as_rows(table: BenchmarkTable) -> list[str]:
    """Tables 3 and 4: a row a system, a column a class; groups and the upper bound set apart by a double line."""
    intervals = [MEAN_INTERVAL] * has_mean_intervals(table)
    heads = ["Method", *(escape(head) for head in table.columns.values()), *intervals, "seeds"]
    if table.reference:
        heads.append(f"mIoU against {escape(table.reference)}")
    parts: list[list[list[str]]] = [[heads], []]
    for before, row in pairwise([None, *table.rows]):
        assert row is not None
        if before is not None and (before.upper_bound, before.group) != (row.upper_bound, row.group):
            parts.append([])
        parts[-1] += _row(table, row)
    return _tabular("|" + "c|" * len(heads), *parts)


def _row(table: BenchmarkTable, row: TableRow) -> list[list[str]]:
    means = [mean_interval(row)] * has_mean_intervals(table)
    ours = [_name(table, row), *(_figure(table, row, column) for column in table.columns), *means, str(len(row.seeds))]
    if table.reference:
        ours.append(escape(against(table, row)))
    if row.printed is None:
        return [ours]
    theirs = [f"paper: {escape(row.printed.label)}", *(_printed(table, row, column) for column in table.columns)]
    return [ours, [*theirs, *[""] * (len(ours) - len(theirs))]]


def _tabular(bars: str, *parts: list[list[str]]) -> list[str]:
    r"""Rows with a line below each, and a double line between parts."""
    lines = [rf"\begin{{tabular}}{{{bars}}}", r"\hline"]
    filled = [part for part in parts if part]
    for index, part in enumerate(filled):
        for row in part:
            lines += [" & ".join(row) + r" \\", r"\hline"]
        lines += [r"\hline"] if index < len(filled) - 1 else []
    return [*lines, r"\end{tabular}%"]


def _name(table: BenchmarkTable, row: TableRow) -> str:
    bound = " (upper bound)" if row.upper_bound else ""
    return escape(row.label) + bound + _raised(marks_of(table, row, of_paper=False))


def _figure(table: BenchmarkTable, row: TableRow, column: str) -> str:
    mean_only = column.startswith(BY_CLASS)
    text = shown(row.figures[column], table.decimals, r"{\scriptsize$\pm$")
    mean, brace, deviation = text.partition("{")
    mark = MARKS[rank(table).get((row.label, column))]
    return mark.format(mean) + ("" if mean_only or not brace else brace + deviation + "}")


def _printed(table: BenchmarkTable, row: TableRow, column: str) -> str:
    letters = _raised(marks_of(table, row, of_paper=True)) if column == "miou" else ""
    return table.printed_figure(row, column) + letters


def _raised(letters: str) -> str:
    return f"$^{{\\mathrm{{{letters}}}}}$" if letters else ""
