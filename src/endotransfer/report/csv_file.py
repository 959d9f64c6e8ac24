"""The data behind a figure, as a CSV file beside its picture."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from endotransfer.errors import DataError
from endotransfer.io import write_atomically
from endotransfer.spreadsheet import safe_cell


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Replace `path`.  Numbers keep all their digits; None is an empty cell."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([safe_cell(column) for column in columns])
    writer.writerows([safe_cell(value, numbers=True) for value in row] for row in rows)
    write_atomically(path, lines.getvalue(), DataError)
