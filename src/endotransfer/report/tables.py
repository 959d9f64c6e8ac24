"""Results of runs as a table, for people first: it fits a terminal of 80 columns."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from endotransfer.metrics import Figure, figures
from endotransfer.metrics.figure import legend
from endotransfer.metrics.group_kinds import describe_groups
from endotransfer.metrics.pranet import NAMES
from endotransfer.results import Results

ROOMY = 100  # columns from which on there is space between the figures
NAME = 9  # columns that the name of a system takes at least, over several lines if need be


def columns() -> list[Figure]:
    """What the table shows of a run: the figures of every table, then those of runs."""
    known = [figure for figure in figures() if not figure.by_class]
    return [figure for shown in ("main", "page") for figure in known if figure.shown == shown]


def heads(some: Sequence[Figure] | None = None) -> list[str]:
    shown = columns() if some is None else some
    named = [[figure.label, "95 %"] if figure.leading else [figure.label] for figure in shown]
    return ["system", "seed", "images", *(head for some in named for head in some)]


def row_of(results: Results, some: Sequence[Figure] | None = None) -> list[str]:
    """One line of the table.  What does not exist is a dash."""
    cells = [results.system, str(results.seed), "-" if results.images is None else str(results.images)]
    for figure in columns() if some is None else some:
        cells.append(number(results.figure(figure.name)))
        if figure.leading:
            ends = results.interval(figure.name)
            cells.append(f"{ends[0]:.1f}-{ends[1]:.1f}" if ends else "-")
    return cells


def explanation(some: Sequence[Figure] | None = None) -> str:
    shown = columns() if some is None else some
    leading = next(figure.label for figure in shown if figure.leading)
    return f"Per cent. {legend(shown)}; 95 %: interval of {leading}."


def fitting(results: Sequence[Results], width: int) -> list[Figure]:
    """The columns that a terminal has room for: all, or those of every table."""
    lines = [heads(), *(row_of(one) for one in results)]
    needed = sum(max(map(len, column)) + 1 for column in list(zip(*lines, strict=True))[1:])
    return columns() if needed + NAME <= width else [figure for figure in columns() if figure.shown == "main"]


def print_results(results: Sequence[Results], console: Console | None = None, title: str = "") -> None:
    console = console or Console()
    gap = (0, 1) if console.width >= ROOMY else 0
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=gap, show_edge=False)
    shown = fitting(results, console.width)
    first, *others = heads(shown)
    table.add_column(first, overflow="fold")  # the one column that may take two lines: a figure cut short is none
    for head in others:
        table.add_column(head, justify="right", no_wrap=True)
    for one in results:
        table.add_row(*row_of(one, shown))
    console.print(table)
    for line in [explanation(shown), *remarks(results)]:
        console.print(line, markup=False, highlight=False)
    for one in results:
        _print_tag_evidence(one, console)
        _print_pranet(one, console)


def as_markdown(results: Sequence[Results]) -> str:
    lines = ["| " + " | ".join(heads()) + " |", "|---|" + "---:|" * (len(heads()) - 1)]
    rows = ["| " + " | ".join(row_of(one)) + " |" for one in results]
    return "\n".join([*lines, *rows, "", "  \n".join([explanation(), *remarks(results)])]) + "\n"


def remarks(results: Sequence[Results]) -> list[str]:
    """What the intervals rest on, and which models give one answer everywhere."""
    drawn = [one.intervals for one in results if one.intervals is not None and one.interval("miou") is not None]
    groups = dict.fromkeys(describe_groups(some.group_kinds) or f"{some.groups} groups" for some in drawn)
    said = [f"Intervals are over test images ({some}), not over seeds: other seeds may differ." for some in groups]
    return said + [f"{one.system}, seed {one.seed}: {one.collapsed}." for one in results if one.collapsed]


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
