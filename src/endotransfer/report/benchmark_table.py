"""A benchmark's results as tables: `table.md`, `table.csv` and `table.tex` beside its `results.json`, and the terminal.

docs/reading-the-tables.md says how to read them.
"""

from itertools import pairwise
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endotransfer.compare.benchmark_results import BenchmarkResults
from endotransfer.errors import ConfigError
from endotransfer.io import write_atomically
from endotransfer.metrics import FIGURES
from endotransfer.metrics.figure import legend as explained
from endotransfer.report.benchmark_csv import to_csv
from endotransfer.report.benchmark_latex import to_latex
from endotransfer.report.benchmark_markdown import to_markdown
from endotransfer.report.benchmark_rows import BY_CLASS, BenchmarkTable, TableRow, read_table
from endotransfer.report.benchmark_text import UNSURE, against, footnotes, has_printed, marks_of, shown
from endotransfer.report.ranking import Mark, rank, why_unmarked

FORMS = {"table.md": to_markdown, "table.csv": to_csv, "table.tex": to_latex}
STYLES: dict[Mark | None, str] = {"best": "[bold red]{}[/]", "second": "[blue]{}[/]", None: "{}"}
ROOMY = 100  # columns from which on there is space between the figures


def write_tables(results: BenchmarkResults, out: Path) -> list[Path]:
    """Draw the content of a `results.json` in every form into the folder `out`; earlier tables there are replaced."""
    table = read_table(results)
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in FORMS.items():
        write_atomically(out / name, draw(table), ConfigError)
    return [out / name for name in FORMS]


def print_benchmark(results: BenchmarkResults, console: Console | None = None) -> None:
    """The table in 80 columns: of street scenes the means alone, since nineteen classes do not fit."""
    console = console or Console()
    table = read_table(results)
    columns = [column for column in table.columns if not column.startswith(BY_CLASS)]
    gap = (0, 1) if console.width >= ROOMY else 0
    drawn = Table(title=escape(table.name), title_justify="left", box=box.SIMPLE_HEAD, padding=gap, show_edge=False)
    drawn.add_column("system", overflow="fold")
    heads = ["seeds", *(table.columns[column] for column in columns), "±", "against", *["paper"] * has_printed(table)]
    for head in heads:
        drawn.add_column(head, justify="right", no_wrap=True)
    marks = rank(table)
    for before, row in pairwise([None, *table.rows]):
        assert row is not None
        if before is not None and (before.upper_bound, before.group) != (row.upper_bound, row.group):
            drawn.add_section()
        drawn.add_row(*_cells(table, row, columns, marks))
    console.print(drawn)
    for line in _words(table):
        console.print(line, markup=False, highlight=False)


def _cells(table: BenchmarkTable, row: TableRow, columns: list[str], marks: dict[tuple[str, str], Mark]) -> list[str]:
    letters = marks_of(table, row, of_paper=False)
    figures = [
        STYLES[marks.get((row.label, column))].format(shown(row.figures[column], table.decimals).partition(" ")[0])
        for column in columns
    ]
    mean = row.figures["miou"]
    deviation = "-" if mean is None or mean.deviation is None else f"{mean.deviation:.{table.decimals}f}"
    paper = [table.printed_figure(row, "miou") + marks_of(table, row, of_paper=True)] * has_printed(table)
    name = escape(row.label + (f" [{letters}]" if letters else ""))
    return [name, str(len(row.seeds)), *figures, deviation, escape(against(table, row)), *paper]


def _words(table: BenchmarkTable) -> list[str]:
    unsure = f", {UNSURE} not told apart" if any(row.told_apart is False for row in table.rows) else ""
    versus = f" against: mIoU less that of {table.reference}, 95 %{unsure};" if table.reference else ""
    paper = " paper: its mIoU, on its own data;" if has_printed(table) else ""
    lines = [f"Per cent, mean over seeds; ±: deviation of mIoU;{versus}{paper}".rstrip(";") + "."]
    known = [FIGURES.get(column) for column in table.columns if not column.startswith(BY_CLASS)]
    lines.append(f"{explained(figure for figure in known if not figure.in_paper)}.")
    lines += table.basis
    marks = why_unmarked(table) or "Best red, with all not told apart from it; runner-up blue, the same among the rest."
    lines.append(f"{marks} A system that saw target masks is below the line and not ranked.")
    if table.by_class:
        lines.append("The classes are in table.md, table.csv and table.tex.")
    return lines + [f"[{letter}] {sentence}" for letter, sentence in footnotes(table).items()]
