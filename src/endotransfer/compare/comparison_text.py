"""A comparison as the terminal shows it: both values, the difference, what may be concluded, what else differs."""

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endotransfer.compare.decision import ONE_SEED
from endotransfer.compare.paired import Comparison, Differing
from endotransfer.metrics.group_kinds import describe_groups


def print_comparison(found: Comparison, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("run", overflow="fold")
    table.add_column(found.metric, justify="right", no_wrap=True)
    for runs, value in zip(found.runs, found.values, strict=True):
        table.add_row(escape("\n".join(runs)), _number(value))
    ends = found.interval
    interval = f" ({_signed(ends[0])} to {_signed(ends[1])})" if ends else " (no interval)"
    table.add_row("first - second, 95 %", _signed(found.difference) + interval)
    console.print(table)
    for line in _lines(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(found: Comparison) -> Iterator[str]:
    yield found.conclusion
    seeds = f"seeds {', '.join(map(str, found.seeds))}" if len(found.seeds) > 1 else ONE_SEED
    yield f"The interval rests on {found.groups} groups: {describe_groups(found.group_kinds)}; {seeds}."
    shares = found.shares
    parts = {"better": shares.better, "worse": shares.worse, "same": shares.same}
    said = ", ".join(f"{_number(share)} % {name}" for name, share in parts.items())
    yield f"Of {shares.compared_images} of {found.images} images the first is on {said}."
    yield from found.notes
    if found.settings:
        yield f"Settings that differ (first | second): {_settings(found.settings)}."
    if found.method_settings:
        yield f"Of the method (first | second): {_settings(found.method_settings)}."


def _settings(some: Differing) -> str:
    sides = {place: [", ".join(map(str, values)) for values in both] for place, both in some.items()}
    return "; ".join(f"{place} {first} | {second}" for place, (first, second) in sides.items())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
