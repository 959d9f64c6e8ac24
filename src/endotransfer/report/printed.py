"""What the paper prints in its Tables 1 to 4, to the digit, and which of its means do not follow from their columns.

The figures lie beside this file in `printed_tables/`, one CSV a table: a row a system, an empty cell for a dash.
"""

import csv
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files

NUMBERS = {"medical": 1, "ablation": 2, "synthia": 3, "gta": 4}
TOLERANCE = Fraction("0.05")  # a printed mean that is off by this much or more gets a footnote

# Our methods under the paper's names.  DF (dilated VGG, source only) is BL on a shared backbone, so it has no own row.
ROW_OF_METHOD = {
    "source_only": "BL", "cdws": "CDWS", "nmd": "NMD", "wild": "Wild", "dfn": "DFN", "lta": "LtA", "cgan": "CGAN",
    "cl": "CL", "lsd": "LSD", "cycada": "CyCADA", "semantic_transfer": "Ours",
}  # fmt: skip
ALIASES = {"baseline": "bl", "deeplabv3": "bl"}
# Presets that are less or more than what the paper compared: one level of two, tags on pixels, masks beside tags, one
# stage of two, too few steps of one.
NOT_THE_PAPERS = {
    ("lta", "single"), ("lta", "normals"), ("lta", "tags"), ("cdws", "masks"), ("cycada", "translation"),
    ("cycada", "features"), ("cycada", "short"),
    ("semantic_transfer", "robust"),  # as files of results from before tag_transfer call it
}  # fmt: skip


@dataclass(frozen=True)
class PrintedRow:
    """One system of a table.  `figures` follow the table's columns; None is a dash."""

    label: str
    figures: tuple[Decimal | None, ...]
    mean: Decimal | None

    @property
    def recomputed(self) -> Fraction | None:
        """The mean of the row's own figures, exactly; None where one of them is a dash."""
        known = [Fraction(figure) for figure in self.figures if figure is not None]
        return sum(known, Fraction()) / len(known) if len(known) == len(self.figures) else None

    @property
    def is_off(self) -> bool:
        mean, own = self.mean, self.recomputed
        return mean is not None and own is not None and abs(Fraction(mean) - own) >= TOLERANCE


@dataclass(frozen=True)
class PrintedTable:
    name: str
    columns: tuple[str, ...]  # without the mean
    rows: tuple[PrintedRow, ...]

    @property
    def number(self) -> int:
        return NUMBERS[self.name]

    def row(self, label: str) -> PrintedRow | None:
        """The row of that name, however it is spelt: `bl_al` is BL+AL."""
        wanted = plain(label)
        return next((row for row in self.rows if wanted and plain(row.label) == wanted), None)

    def footnotes(self) -> dict[str, str]:
        """For each row whose printed mean is off by 0.05 or more: its name, and the sentence to print."""
        return {row.label: self._explain(row) for row in self.rows if row.is_off}

    def _explain(self, row: PrintedRow) -> str:
        assert row.recomputed is not None and row.mean is not None
        own = _to_cents(row.recomputed)
        tie = "; exactly half way, so rounding up gives what is printed" if own - row.mean == Decimal("-0.05") else ""
        return f"Table {self.number} of the paper prints {row.mean} for {row.label}; its own columns give {own}{tie}."


@cache
def printed_table(name: str) -> PrintedTable:
    """`medical`, `ablation`, `synthia` or `gta`."""
    text = (files(__package__) / "printed_tables" / f"{name}.csv").read_text(encoding="utf-8")
    (_, *columns, _), *lines = csv.reader(text.splitlines())
    rows = tuple(PrintedRow(line[0], tuple(map(_figure, line[1:-1])), _figure(line[-1])) for line in lines)
    return PrintedTable(name, tuple(columns), rows)


def find_table(asked: object) -> PrintedTable | None:
    """A suite's `table` (1, "Table 1", "medical", ...) -> the printed one; None where the paper has none."""
    text = str(asked).lower()
    for name, number in NUMBERS.items():
        if text == name or re.fullmatch(rf"(table )?{number}", text):
            return printed_table(name)
    return None


def find_row(
    table: PrintedTable, label: str = "", method: str = "", preset: str = "", variant: str | None = None
) -> PrintedRow | None:
    """The paper's row for one of our systems: by the row's own name, else by the ablation's, else by the method's.

    `semantic_transfer` is the paper's own system (Ours); `tag_transfer` goes beyond it and has no printed row.
    """
    named = table.row(label)
    if named is not None or variant:
        return named or table.row(variant or "")
    if (method, preset) in NOT_THE_PAPERS:
        return None
    return table.row(ROW_OF_METHOD.get(method, ""))


def plain(label: str) -> str:
    """Letters and digits alone, small, and one name for the baseline."""
    text = re.sub(r"[^a-z0-9]", "", label.lower())
    return ALIASES.get(text, text)


def _figure(text: str) -> Decimal | None:
    return Decimal(text) if text else None


def _to_cents(value: Fraction) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
