"""The paper's tables as printed: complete, to the digit, and with every faulty mean found."""

import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

from endotransfer.methods import METHODS
from endotransfer.methods.semantic_transfer import SemanticTransfer
from endotransfer.report.printed import (
    NOT_THE_PAPERS,
    NUMBERS,
    ROW_OF_METHOD,
    PrintedRow,
    find_row,
    find_table,
    printed_table,
)

ABLATION = ["BL", "BL+AL", "BL+AL+PL", "BL+AL+SRT", "BL+PL+SRT", "Ours"]
ROWS = {
    "medical": ["Baseline", "CDWS", "NMD", "Wild", "DFN", "LtA", "CGAN", "Ours"],
    "ablation": [*ABLATION, "Ours-woPL", "Ours-woCB", "Ours-woSP"],
    "synthia": ["DF", "Wild", "CL", "NMD", "LSD", "LtA", "CGAN", *ABLATION[:-1], "Ours-woSP", "Ours"],
    "gta": ["DF", "Wild", "CL", "CyCADA", "LSD", "LtA", "CGAN", *ABLATION[:-1], "Ours-woSP", "Ours"],
}
FAULTY = {
    "medical": {},
    "ablation": {"BL+PL+SRT": ("63.58", "63.86"), "Ours-woPL": ("61.69", "61.49")},
    "synthia": {"Wild": ("20.2", "20.15")},
    "gta": {"DF": ("21.1", "21.16"), "CL": ("28.9", "28.81"), "CGAN": ("44.5", "44.55")},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_every_row_and_column_is_there(name: str) -> None:
    table = printed_table(name)
    assert [row.label for row in table.rows] == ROWS[name]
    assert len(table.columns) == {"medical": 2, "ablation": 2, "synthia": 16, "gta": 19}[name]
    assert {len(row.figures) for row in table.rows} == {len(table.columns)}
    decimals = -2 if table.number < 3 else -1
    figures = [figure for row in table.rows for figure in (*row.figures, row.mean) if figure is not None]
    assert {figure.as_tuple().exponent for figure in figures} == {decimals}


@pytest.mark.parametrize("name", NUMBERS)
def test_exactly_the_faulty_means_have_a_footnote(name: str) -> None:
    notes = printed_table(name).footnotes()
    assert {*notes} == {*FAULTY[name]}
    for row, (printed, own) in FAULTY[name].items():
        assert (
            f"Table {NUMBERS[name]} of the paper prints {printed} for {row}; its own columns give {own}" in notes[row]
        )


def test_a_tie_says_that_it_is_one() -> None:
    assert "exactly half way" in printed_table("synthia").footnotes()["Wild"]
    assert "half way" not in printed_table("gta").footnotes()["CGAN"]


@pytest.mark.parametrize(
    ("mean", "off"), [("50.04", False), ("49.96", False), ("50.05", True), ("49.95", True), (None, False)]
)
def test_a_mean_is_off_from_five_hundredths_on(mean: str | None, off: bool) -> None:
    row = PrintedRow("x", (Decimal("40.0"), Decimal("60.0")), None if mean is None else Decimal(mean))
    assert row.is_off is off


def test_a_row_with_a_dash_has_no_mean_to_hold_against_it() -> None:
    row = printed_table("synthia").row("NMD")
    assert row is not None and row.mean is None and row.recomputed is None and not row.is_off


# -- against the paper itself ---------------------------------------------------------------------------------------


def paper() -> str:
    shared = Path(os.environ.get("ENDOTRANSFER_SHARED") or Path(__file__).parents[3] / "shared")
    texts = sorted((shared / "paper").glob("*.txt"))
    if not texts:
        pytest.skip("the paper's text is not here")
    return texts[0].read_text(encoding="utf-8")


def latex_rows(text: str, number: int) -> list[list[str]]:
    """The cells of the table that is the paper's `number`th, marks and citations taken off."""
    tables = re.findall(r"\\begin\{tabular\}.*?\n(.*?)\\end\{tabular\}", text, re.DOTALL)
    plain = re.sub(r"\\cite\{.*?\}|\\hline|\\textcolor\{\w+\}|\\textbf|\\mr|[{}$ \t\n]", "", tables[number - 1])
    return [line.split("&") for line in plain.split(r"\\") if line]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_figures_are_those_of_the_paper(name: str) -> None:
    rows = latex_rows(paper(), NUMBERS[name])
    if NUMBERS[name] < 3:  # there a system is a column
        rows = [list(column) for column in zip(*rows, strict=True)]
    table = printed_table(name)
    ours = [[row.label, *("-" if f is None else str(f) for f in (*row.figures, row.mean))] for row in table.rows]
    assert ours == rows[1:]
    if NUMBERS[name] > 2:
        assert [*table.columns] == rows[0][1:-1]


# -- which row is whose ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "system", "row"),
    [
        ("medical", {"method": "source_only"}, "Baseline"),
        ("ablation", {"method": "source_only"}, "BL"),
        ("gta", {"method": "source_only"}, "BL"),
        ("gta", {"method": "source_only", "label": "DF"}, "DF"),
        ("medical", {"method": "lta", "preset": "multi"}, "LtA"),
        ("medical", {"method": "lta", "preset": "single"}, None),
        ("medical", {"method": "lta", "preset": "normals"}, None),
        ("medical", {"method": "lta", "preset": "tags"}, None),
        ("medical", {"method": "cdws", "preset": "masks"}, None),
        ("medical", {"method": "cycada"}, None),
        ("gta", {"method": "cycada", "preset": "default"}, "CyCADA"),
        ("gta", {"method": "cycada", "preset": "features"}, None),
        ("gta", {"method": "cycada", "preset": "short"}, None),
        ("medical", {"method": "semantic_transfer", "preset": "paper"}, "Ours"),
        ("medical", {"method": "semantic_transfer", "preset": "robust"}, None),
        ("ablation", {"method": "semantic_transfer", "preset": "robust", "variant": "BL+AL"}, "BL+AL"),
        ("ablation", {"method": "semantic_transfer", "preset": "paper", "variant": "Ours-woSP"}, "Ours-woSP"),
        ("ablation", {"method": "semantic_transfer", "preset": "paper", "variant": "mine"}, None),
        ("ablation", {"method": "semantic_transfer", "label": "ours_wo_cb"}, "Ours-woCB"),
        ("medical", {"method": "target_supervised"}, None),
        ("medical", {"method": "my_own"}, None),
    ],
)
def test_a_system_finds_its_row(table: str, system: dict[str, str], row: str | None) -> None:
    found = find_row(printed_table(table), **system)
    assert (found and found.label) == row


def test_the_mapping_names_what_exists() -> None:
    printed = {row.label for name in NUMBERS for row in printed_table(name).rows}
    assert {*ROW_OF_METHOD.values()} <= printed
    assert {*ROW_OF_METHOD} <= {*METHODS.names()}
    former = {("semantic_transfer", "robust")}
    assert {(m, p) for m in METHODS.names() for p in METHODS.get(m).presets} >= NOT_THE_PAPERS - former
    for variant in SemanticTransfer.variants:
        assert find_row(printed_table("ablation"), method="semantic_transfer", preset="paper", variant=variant)


@pytest.mark.parametrize("asked", [1, "1", "Table 1", "medical"])
def test_a_table_has_several_names(asked: object) -> None:
    table = find_table(asked)
    assert table is not None and table.name == "medical"


@pytest.mark.parametrize("asked", [None, 5, "12", "", "polyp"])
def test_other_tables_are_not_the_papers(asked: object) -> None:
    assert find_table(asked) is None


def test_the_documentation_lists_the_faulty_means() -> None:
    page = Path(__file__).parents[2] / "docs" / "reading-the-tables.md"
    rows = re.findall(r"^\| (\d) \(.*?\) \| (.*?) \| ([\d.]+) \| ([\d.]+) \|$", page.read_text(encoding="utf-8"), re.M)
    assert rows == [(str(NUMBERS[name]), row, *means) for name in NUMBERS for row, means in FAULTY[name].items()]
