"""A table of tags as a spreadsheet exports it: any separator, any encoding usual in Germany, any column names."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.group_columns import candidates, letters
from endotransfer.data.folders.label_columns import LABEL_NAMES
from endotransfer.data.folders.listing import printable
from endotransfer.errors import DataError
from endotransfer.io import LARGEST_TABLE, read_bounded

_SEPARATORS = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars"}
_SAID = re.compile(r'"?sep=([;,\t|])"?\r?\n', re.IGNORECASE)
_IMAGE = (
    *("dateiname", "datei", "filename", "file", "imagename", "imagefile", "image", "imageid", "bilddatei", "bildname"),
    *("bild", "bildid", "foto", "picture", "frame", "filepath", "path", "pfad", "name"),
)


@dataclass
class TagTable:
    """Rows by column, each with its line; `guesses`: what was assumed about the file, in sentences."""

    path: Path
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, Mapping[str, str]]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # 'line: reason'
    guesses: list[str] = field(default_factory=list)

    def column(self, option: str, asked: str, usual: Iterable[str]) -> str:
        """The column that the option names, or the first with a usual name; '' where there is none."""
        if asked:
            fitting = [column for column in self.columns if column == asked]
            fitting += [column for column in self.columns if letters(column) == letters(asked)]
            if not fitting:
                known = ", ".join(self.columns)
                raise DataError(f"{self.path} has no column '{asked}' (option {option}); it has: {known}.")
            return self._once(fitting[0])
        found = next((column for name in usual for column in self.columns if letters(column) == name), "")
        if found:
            self.guesses.append(f"the column '{printable(found)}' was taken for the {option}")
        return self._once(found)

    def _once(self, column: str) -> str:
        """The column, if it is the only one of its name: of two, the cells of one would be lost."""
        if column and self.columns.count(column) > 1:
            raise DataError(f"{self.path} has two columns called '{printable(column)}'; rename or remove one.")
        return column

    def image_column(self, asked: str) -> str:
        found = self.column("image", asked, _IMAGE)
        if not found:
            known = ", ".join(self.columns)
            raise DataError(f"{self.path} has no column of file names that could be told (it has: {known}); name it "
                            "with --image.")  # fmt: skip
        return found

    def label_column(self, asked: str) -> str:
        return self.column("label", asked, LABEL_NAMES)

    def patient_column(self, asked: str) -> str:
        if asked:
            return self.column("patient", asked, ())
        return self.column("patient", "", map(letters, candidates("patient", self.columns)))


def read_tag_table(path: Path, separator: str = "") -> TagTable:
    """Read the whole table; a row with too many cells is left out and named."""
    table = TagTable(path)
    text = _decode(path, table)
    said = _SAID.match(text)  # how Excel is told the separator
    text = text[said.end() :] if said else text
    separator = separator.replace("\\t", "\t") or (said[1] if said else _sniff(text, table))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        table.columns = [cell.strip() for cell in next(lines, [])]
        for cells in lines:
            if any(cell.strip() for cell in cells):
                _take(table, lines.line_num, cells)
    except csv.Error as reason:
        raise DataError(f"{path} is not a readable table from line {lines.line_num} on ({reason}); save it again as "
                        "CSV.") from reason  # fmt: skip
    if not table.rows and table.left:
        raise DataError(f"{path} has no row that can be read (first: {table.left[0]}); put cells that contain the "
                        "separator in double quotes, or name another one with --separator.")  # fmt: skip
    if not table.rows:
        raise DataError(f"{path} has no row below its first line; give the table with a row for each image.")
    return table


def _take(table: TagTable, line: int, cells: list[str]) -> None:
    if any(cell.strip() for cell in cells[len(table.columns) :]):
        table.left.append(f"{table.path.name}, line {line}: has {len(cells)} cells for {len(table.columns)} columns")
        return
    texts = [cell.strip() for cell in cells] + [""] * len(table.columns)
    table.rows.append((line, dict(zip(table.columns, texts, strict=False))))


def _decode(path: Path, table: TagTable) -> str:
    if path.suffix.lower() in (".xlsx", ".xls", ".ods", ".numbers"):
        raise DataError(f"{path} is a spreadsheet; save it as CSV (any separator) and give that.")
    try:
        raw = read_bounded(path, DataError, "check the name and its rights", LARGEST_TABLE)
    except FileNotFoundError as reason:
        raise DataError(f"cannot read {path}: {reason.strerror}; check the name and its rights.") from reason
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        table.guesses.append("the table is not UTF-8 and was read as Windows-1252, as German spreadsheets write it")
        return raw.decode("cp1252", "replace")


def _sniff(text: str, table: TagTable) -> str:
    """The separator that divides most of the first lines as it divides the header."""
    best, most = ",", 0
    for separator in _SEPARATORS:
        rows = list(csv.reader(io.StringIO(text[:20_000], newline=""), delimiter=separator))[:50]
        width = len(rows[0]) if rows else 0
        score = sum(len(row) == width for row in rows) * (width > 1)
        if score > most:
            best, most = separator, score
    if best != ",":
        table.guesses.append(f"the table is separated by {_SEPARATORS[best]}")
    return best
