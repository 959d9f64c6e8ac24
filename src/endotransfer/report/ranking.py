"""Who is best and who comes next, column by column, as far as intervals allow to say so."""

from typing import Literal

from endotransfer.compare.decision import FEWEST_GROUPS, FEWEST_SEEDS
from endotransfer.report.benchmark_rows import BenchmarkTable, TableRow

Mark = Literal["best", "second"]
MARKS: dict[int, Mark] = {1: "best", 2: "second"}


def rank(table: BenchmarkTable) -> dict[tuple[str, str], Mark]:
    """(system, column) -> its mark, by the standings that results.json has: rows that cannot be told apart share one.

    A table without standings (one seed a row, or an older file) has no marks.
    """
    return {
        (row.label, column): MARKS[place]
        for row in table.rows
        if not row.upper_bound
        for column in table.columns
        if (place := row.places.get(column)) in MARKS
    }


def sharing(table: BenchmarkTable, row: TableRow, column: str = "miou") -> list[str]:
    """Other rows that are not told apart from `row`, the leader of the column."""
    return [
        other.label
        for other in table.rows
        if other is not row and not other.upper_bound and other.figures[column] is not None
        and (row.places.get(column) != 1 or other.places.get(column) == 1)
    ]  # fmt: skip


def why_unmarked(table: BenchmarkTable) -> str:
    """Why no row is marked anywhere, as a sentence; empty where one is."""
    ranked = [row for row in table.rows if not row.upper_bound and row.seeds]
    if rank(table) or len(ranked) < 2:
        return ""
    if sum(len(row.seeds) >= FEWEST_SEEDS for row in ranked) < 2:
        return "No row is marked as best: one seed each, and other seeds may order them otherwise."
    groups = [row.groups for row in ranked if row.groups is not None]
    if groups and min(groups) < FEWEST_GROUPS:
        return f"No row is marked as best: the test images are only {min(groups)} group{'s' * (min(groups) > 1)}."
    if not any(row.ranked for row in ranked):
        return "No row is marked as best: these results hold no intervals between rows."
    return "No row is marked as best: none is told apart from all others."
