"""`labels.csv`: one row per image, every column read as text."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from endotransfer.data.folders.faults import Fault, Note
from endotransfer.data.folders.group_columns import candidates, group_columns, one_spelling
from endotransfer.data.folders.label_columns import label_column, other_names
from endotransfer.data.folders.listing import printable, unsafe_name
from endotransfer.errors import DataError
from endotransfer.io import LARGEST_TABLE, read_bounded, write_atomically

FILE = "labels.csv"
_SAVE = "save it again as CSV"
LABELS = ("lesion", "normal")
KNOWN_COLUMNS = ("image", "label", "finding", "split", "cluster", "patient", "sequence")


@dataclass(frozen=True)
class LabelRow:
    """One row of the table: its line number, and its cells by column."""

    line: int
    cells: Mapping[str, str]


@dataclass
class Table:
    """The rows that can be used, and a fault for each one that cannot."""

    columns: list[str] = field(default_factory=list)
    rows: list[LabelRow] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def read_labels(path: Path) -> Table:
    """Read the whole table, collecting faults instead of stopping at the first.

    Patient, sequence and label are found under other usual names, and are then in columns of these names as well; a
    column that looks like tags and is not read is a fault.
    """
    table = _read(path)
    cells = [row.cells for row in table.rows]
    read = group_columns(table.columns, cells)
    if tags := label_column(table.columns, cells, LABELS):
        read["label"] = tags
    else:
        table.faults += [_unread(path, column) for column in other_names(table.columns)]
    for kind, column in read.items():
        if column != kind:
            table.rows = [replace(row, cells={**row.cells, kind: row.cells.get(column, "")}) for row in table.rows]
            table.columns += [kind] if kind not in table.columns else []
            table.notes.append(Note("group-column", f"the column '{printable(column)}' is read as the {kind}"))
    for kind in ("patient", "sequence"):
        _spell_alike(table, kind)
    return table


def _spell_alike(table: Table, kind: str) -> None:
    """Give all spellings of one patient or sequence the first of them."""
    spelled = one_spelling(row.cells.get(kind, "") for row in table.rows)
    others = [printable(value) for value, first in spelled.items() if value != first]
    if others:
        table.rows = [replace(row, cells={**row.cells, kind: spelled[row.cells.get(kind, "")]}) for row in table.rows]
        some = ", ".join(others[:3]) + (", ..." if len(others) > 3 else "")
        what = f"spellings of a {kind} that differ in capitals or spaces alone are read as one ({some})"
        table.notes.append(Note("group-column", what))


def _unread(path: Path, column: str) -> Fault:
    what = f"has no column `label`, and the tags that '{printable(column)}' may hold are not read"
    fix = f"call it `label`, and write {' or '.join(LABELS)} in it (`endotransfer data import table` reads other words)"
    return Fault("unread-column", str(path), what, fix, "warning")


def _read(path: Path) -> Table:
    table = Table()
    try:
        text = read_bounded(path, DataError, _SAVE, LARGEST_TABLE).decode("utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(lines, [])
        table.columns = [cell.strip() for cell in header]
        if fault := _header_fault(path, table.columns):
            table.faults.append(fault)
            return table
        for cells in lines:
            if any(cell.strip() for cell in cells):
                _take(path, lines.line_num, cells, table)
    except UnicodeDecodeError:
        table.faults.append(Fault("bad-table", str(path), "is not UTF-8 text", "save it as CSV with UTF-8 encoding"))
    except DataError as reason:
        table.faults.append(Fault("bad-table", str(path), f"cannot be read ({reason})", _SAVE))
    except csv.Error as reason:
        what = f"is not a readable table from line {lines.line_num} on ({reason})"
        table.faults.append(Fault("bad-table", str(path), what, _SAVE))
    except OSError as reason:
        what = f"cannot be read ({reason.strerror})"
        table.faults.append(Fault("no-permission", str(path), what, "change its rights"))
    return table


def write_labels(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    """Write the table whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue(), DataError)


def _header_fault(path: Path, columns: list[str]) -> Fault | None:
    twice = next((column for column in columns if column and columns.count(column) > 1), None)
    if twice:
        return Fault("bad-table", str(path), f"has two columns called '{twice}'", "rename one of them")
    grouping = {*candidates("patient", columns), *candidates("sequence", columns)}  # under any name
    odd = (column for column in columns if column not in KNOWN_COLUMNS and column not in grouping)
    capital = next((column for column in odd if column.lower() in KNOWN_COLUMNS), None)
    if capital:  # read as one more column of text it would silently be ignored
        return Fault("bad-table", str(path), f"has a column '{capital}'", f"write it as `{capital.lower()}`")
    if "image" in columns:
        return None
    shown = printable(", ".join(columns[:8]))
    if len(columns) == 1 and (";" in shown or "\\t" in shown):
        return Fault("bad-table", str(path), "is not separated by commas", "save it as CSV with commas")
    what = f"has no column `image` in its first line (found: {shown or 'nothing'})"
    return Fault("bad-table", str(path), what, "name the column with the image names `image`")


def _take(path: Path, line: int, cells: list[str], table: Table) -> None:
    where = f"{path}, line {line}"
    if len(cells) > len(table.columns):
        what = f"has {len(cells)} cells for {len(table.columns)} columns"
        table.faults.append(Fault("bad-row", where, what, "put cells that contain a comma in double quotes"))
        return
    texts = [cell.strip() for cell in cells] + [""] * (len(table.columns) - len(cells))
    row = LabelRow(line, {column: text for column, text in zip(table.columns, texts, strict=True) if column})
    if fault := _row_fault(where, row.cells):
        table.faults.append(fault)
    if not unsafe_name(row.cells["image"]):
        table.rows.append(row)


def _row_fault(where: str, cells: Mapping[str, str]) -> Fault | None:
    name, label = cells["image"], cells.get("label", "")
    if not name:
        return Fault("bad-row", where, "names no image", "fill the column `image`, or remove the line")
    if unsafe_name(name):
        what = f"names the image '{printable(name)}', which contains a path"
        return Fault("unsafe-name", where, what, "write the bare name of a file in images/")
    if label not in ("", *LABELS):
        hint = f"write {' or '.join(LABELS)}, or leave the cell empty where nobody knows"
        return Fault("unknown-label", where, f"has the label '{printable(label)}'", hint)
    return None
