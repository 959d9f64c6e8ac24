"""Results of runs as a table, for people first: it fits a terminal of 80 columns."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from endotransfer.metrics import Figure, figures
from endotransfer.metrics.figure import legend
from endotransfer.metrics.pranet import NAMES
from endotransfer.results import Results

ROOMY = 100  # columns from which on there is space between the figures


def columns() -> list[Figure]:
    """What the table shows of a run: the figures of every table, then those of runs."""
    known = [figure for figure in figures() if not figure.by_class]
    return [figure for shown in ("main", "page") for figure in known if figure.shown == shown]


def heads() -> list[str]:
    named = [[figure.label, "95 %"] if figure.leading else [figure.label] for figure in columns()]
    return ["system", "seed", "images", *(head for some in named for head in some)]


def row_of(results: Results) -> list[str]:
    """One line of the table.  What does not exist is a dash."""
    cells = [results.system, str(results.seed), "-" if results.images is None else str(results.images)]
    for figure in columns():
        cells.append(number(results.figure(figure.name)))
        if figure.leading:
            ends = results.interval(figure.name)
            cells.append(f"{ends[0]:.1f}-{ends[1]:.1f}" if ends else "-")
    return cells


def explanation() -> str:
    leading = next(figure.label for figure in columns() if figure.leading)
    return f"Per cent. {legend(columns())}; 95 %: interval of {leading}."


def print_results(results: Sequence[Results], console: Console | None = None, title: str = "") -> None:
    console = console or Console()
    gap = (0, 1) if console.width >= ROOMY else 0
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=gap, show_edge=False)
    first, *others = heads()
    table.add_column(first, overflow="fold")  # the one column that may take two lines: a figure cut short is none
    for head in others:
        table.add_column(head, justify="right", no_wrap=True)
    for one in results:
        table.add_row(*row_of(one))
    console.print(table)
    console.print(explanation(), markup=False, highlight=False)
    for one in results:
        _print_tag_evidence(one, console)
        _print_pranet(one, console)


def as_markdown(results: Sequence[Results]) -> str:
    lines = ["| " + " | ".join(heads()) + " |", "|---|" + "---:|" * (len(heads()) - 1)]
    rows = ["| " + " | ".join(row_of(one)) + " |" for one in results]
    return "\n".join([*lines, *rows, "", explanation()]) + "\n"


def _print_tag_evidence(results: Results, console: Console) -> None:
    """Where there is no mask to measure against, what the tags can tell."""
    agreement = results.tag_evidence
    if results.figure("miou") is not None or not agreement:
        return
    console.print(f"What tags alone can tell ({agreement['note']}):", markup=False)
    for name, value in agreement.items():
        if isinstance(value, float):
            console.print(f"  {name.replace('_', ' ')}: {value:.1f} %", markup=False)


def _print_pranet(results: Results, console: Console) -> None:
    """In lines of their own: no figure of that protocol may be taken for one of the table."""
    found = results.pranet
    if not found:
        return
    console.print(
        f"PraNet protocol, {results.system}, {found['images']} images with a lesion (per cent):", markup=False
    )
    values = [(name, found[name]) for name in NAMES]
    shown = [
        f"{name.replace('_', ' ')} {number(value if isinstance(value, float) else None)}" for name, value in values
    ]
    console.print("  " + ", ".join(shown), markup=False, highlight=False)


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
