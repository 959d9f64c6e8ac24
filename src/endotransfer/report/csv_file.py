"""The data behind a figure, as a CSV file beside its picture."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from endotransfer.errors import DataError
from endotransfer.io import write_atomically

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is run by spreadsheets


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Replace `path`.  Numbers keep all their digits; None is an empty cell."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    write_atomically(path, lines.getvalue(), DataError)


def _cell(value: object) -> object:
    dangerous = isinstance(value, str) and value.startswith(FORMULA) and not _is_number(value)
    return f"'{value}" if dangerous else value


def _is_number(value: str) -> bool:
    """`-0.5` is read as a number, not run."""
    try:
        float(value)
    except ValueError:
        return False
    return True
