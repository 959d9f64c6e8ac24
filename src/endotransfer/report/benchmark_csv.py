"""A benchmark's table as CSV, for programs: unrounded, a row a system, one column for each number."""

import csv
import io

from endotransfer.report.benchmark_rows import BenchmarkTable, TableRow
from endotransfer.spreadsheet import safe_cell


def to_csv(table: BenchmarkTable) -> str:
    """UTF-8 text; what does not exist is empty."""
    lines = [{str(safe_cell(head)): safe_cell(cell, numbers=True) for head, cell in _row(table, row).items()}
             for row in table.rows]  # fmt: skip
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(lines[0]) if lines else ["system"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _row(table: BenchmarkTable, row: TableRow) -> dict[str, object]:
    low, high = row.interval or (None, None)
    printed = {
        f"paper {head}": table.printed_figure(row, column).replace("-", "")
        for column, head in table.printed_columns.items()
    }
    own = row.printed.recomputed if row.printed else None
    return {
        "system": row.label,
        "upper_bound": row.upper_bound,
        "seeds": " ".join(map(str, row.seeds)),
        **_numbers(table, row),
        "difference": row.difference,
        "low": low,
        "high": high,
        "told_apart": row.told_apart,
        "paper row": row.printed.label if row.printed else "",
        **printed,
        "paper mIoU recomputed": None if own is None else f"{float(own):.4f}",
        "intervals": " ".join(table.basis),
        "notes": " ".join(row.notes),
    }


def _numbers(table: BenchmarkTable, row: TableRow) -> dict[str, object]:
    numbers: dict[str, object] = {}
    for column, head in table.columns.items():
        figure = row.figures[column]
        numbers[head] = None if figure is None else f"{figure.mean:.4f}"
        known = figure is not None and figure.deviation is not None
        numbers[f"{head} deviation"] = f"{figure.deviation:.4f}" if figure is not None and known else None
        ends = figure.interval if figure is not None else None
        numbers |= {f"{head} {end}": f"{ends[n]:.4f}" if ends else None for n, end in enumerate(("low", "high"))}
    return numbers
