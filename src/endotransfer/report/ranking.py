"""Who is best and who comes next, column by column."""

from typing import Literal

from endotransfer.metrics import FIGURES
from endotransfer.report.benchmark_rows import BY_CLASS, BenchmarkTable, TableRow

Mark = Literal["best", "second"]


def rank(table: BenchmarkTable) -> dict[tuple[str, str], Mark]:
    """(system, column) -> its mark.  Figures are compared as they are shown: what looks equal is marked alike.

    An upper bound is not ranked, and a column with a single system has no best.
    """
    marks: dict[tuple[str, str], Mark] = {}
    ranked = [row for row in table.rows if not row.upper_bound]
    for column in table.columns:
        shown = {row.label: value for row in ranked if (value := _shown(row, column, table.decimals)) is not None}
        better = column.startswith(BY_CLASS) or FIGURES.get(column).larger_is_better
        order = sorted(set(shown.values()), reverse=better)
        if len(shown) < 2:
            continue
        for label, value in shown.items():
            if value in order[:2]:
                marks[label, column] = "best" if value == order[0] else "second"
    return marks


def _shown(row: TableRow, column: str, decimals: int) -> float | None:
    figure = row.figures[column]
    return None if figure is None else round(figure.mean, decimals)
