"""What a benchmark's tables say, whatever their form, and that a terminal of 80 columns shows it whole."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults
from endotransfer.errors import ConfigError
from endotransfer.report.benchmark_latex import escape
from endotransfer.report.benchmark_rows import BenchmarkTable
from endotransfer.report.benchmark_rows import read_table as table_of
from endotransfer.report.benchmark_table import print_benchmark, write_tables
from endotransfer.report.benchmark_text import footnotes
from endotransfer.report.ranking import rank, why_unmarked

Results = dict[str, Any]


def read_table(results: Results) -> BenchmarkTable:
    return table_of(BenchmarkResults.model_validate(results))


def forms(results: Results, folder: Path) -> tuple[str, list[dict[str, str]], str]:
    """(Markdown, rows of the CSV, LaTeX)."""
    paths = write_tables(BenchmarkResults.model_validate(results), folder / "new")
    assert [path.name for path in paths] == ["table.md", "table.csv", "table.tex"]
    markdown, rows, latex = (path.read_text(encoding="utf-8") for path in paths)
    return markdown, list(csv.DictReader(io.StringIO(rows))), latex


def markdown_row(text: str, label: str) -> list[str]:
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return next(line[1:] for line in lines if line[0].replace("\\", "").startswith(label))


def latex_row(text: str, head: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(head))
    return [cell.strip() for cell in line.removesuffix(r"\\").split("&")][1:]


def printed(results: Results, width: int = 80) -> str:
    text = io.StringIO()
    print_benchmark(BenchmarkResults.model_validate(results), Console(file=text, width=width))
    return text.getvalue()


# -- figures --------------------------------------------------------------------------------------------------------


def test_means_and_sample_deviations_over_seeds(medical: Results) -> None:
    table = read_table(medical)
    lta = next(row for row in table.rows if row.label == "lta/multi")
    assert lta.seeds == (0, 1)
    figure = lta.figures["iou_lesion"]
    assert figure is not None and figure.mean == 53.0 and figure.deviation == pytest.approx(18**0.5)


def test_a_failed_run_leaves_the_others_and_a_note(medical: Results) -> None:
    table = read_table(medical)
    rows = {row.label: row for row in table.rows}
    figure = rows["semantic_transfer/paper"].figures["miou"]
    assert figure is not None and (figure.mean, figure.deviation) == (66.0, None)
    assert rows["cdws"].seeds == () and set(rows["cdws"].figures.values()) == {None}
    assert [*footnotes(table).values()] == [
        "semantic_transfer/paper, seed 1: failed (a loss stopped being finite).",
        "cdws: not run yet.",
    ]


def test_a_missing_seed_an_unusual_interval_and_shared_runs_are_told(medical: Results) -> None:
    medical["cells"] = [cell for cell in medical["cells"] if (cell["label"], cell["seed"]) != ("lta/multi", 1)]
    medical["summary"][1]["differences"]["note"] = "intervals are over seeds"
    medical["cells"] += [medical["cells"][0] | {"label": "DF", "same_as": "source_only", "seed": n} for n in (0, 1)]
    notes = {row.label: row.notes for row in read_table(medical).rows}
    assert notes["lta/multi"] == ("lta/multi: seed 1 not run yet.", "Against source_only: intervals are over seeds.")
    assert notes["DF"] == ("DF: the same runs as source_only.",)


def test_the_upper_bound_is_last_and_not_ranked(medical: Results) -> None:
    table = read_table(medical)
    assert [row.label for row in table.rows if row.upper_bound] == ["target_supervised"] == [table.rows[-1].label]
    assert {label for label, _ in rank(table)} == {"source_only", "lta/multi", "semantic_transfer/robust"}


def test_marks_are_where_results_json_says_that_rows_stand(medical: Results) -> None:
    marks = rank(read_table(medical))
    assert {column: mark for (label, column), mark in marks.items() if label == "lta/multi"} == {
        "iou_normal": "best", "iou_lesion": "second", "miou": "best",
    }  # fmt: skip
    assert marks["semantic_transfer/robust", "miou"] == "best" and marks["source_only", "miou"] == "second"


def test_means_alone_mark_nobody(medical: Results) -> None:
    """lta has 72 and source_only 61: without an interval between them that is no order."""
    for entry in medical["summary"]:
        entry.pop("standings")
    table = read_table(medical)
    assert rank(table) == {}
    assert why_unmarked(table) == "No row is marked as best: these results hold no intervals between rows."


def test_a_lone_system_is_not_the_best(medical: Results) -> None:
    medical["suite"]["systems"] = ["source_only"]
    medical["cells"] = medical["cells"][:2]
    medical["summary"] = []
    assert rank(read_table(medical)) == {}


# -- forms ----------------------------------------------------------------------------------------------------------


def test_markdown_has_a_row_a_system_with_the_papers_figures_beside(medical: Results, tmp_path: Path) -> None:
    text, _, _ = forms(medical, tmp_path)
    assert markdown_row(text, "system") == [
        "IoU n", "IoU d", "mIoU", "seeds", r"against source\_only", "paper IoU n", "paper IoU d", "paper mIoU",
    ]  # fmt: skip
    assert markdown_row(text, "lta/multi") == [
        "**91.00 ± 1.41**", "*53.00 ± 4.24*", "**72.00 ± 2.83**", "2", "+11.0 [10.0, 12.5]", "81.73", "41.10", "61.42",
    ]  # fmt: skip
    assert markdown_row(text, "source_only")[3:5] == ["2", "reference"]
    assert markdown_row(text, "cdws [b]") == ["-", "-", "-", "0", "-", "25.11", "15.51", "20.31"]
    assert markdown_row(text, "semantic_transfer/robust")[-3:] == ["-", "-", "-"]
    assert "target\\_supervised (upper bound)" in text
    assert "Measured 2026-11-15 with `endotransfer benchmark recipes/capsule.yaml --out DIR`." in text
    assert "Table 1, on its own data" in text and "[b] cdws: not run yet." in text


def test_csv_has_every_number_by_itself(medical: Results, tmp_path: Path) -> None:
    _, rows, _ = forms(medical, tmp_path)
    lta = next(row for row in rows if row["system"] == "lta/multi")
    assert (lta["mIoU"], lta["mIoU deviation"], lta["seeds"]) == ("72.0000", "2.8284", "0 1")
    assert (lta["difference"], lta["low"], lta["high"]) == ("11.04", "9.96", "12.5")
    assert (lta["paper row"], lta["paper mIoU"], lta["paper mIoU recomputed"]) == ("LtA", "61.42", "61.4150")
    assert rows[-1]["upper_bound"] == "True"
    cdws = next(row for row in rows if row["system"] == "cdws")
    assert cdws["mIoU"] == "" and cdws["notes"] == "cdws: not run yet."


def test_latex_of_the_medical_table_has_systems_as_columns(medical: Results, tmp_path: Path) -> None:
    _, _, text = forms(medical, tmp_path)
    assert latex_row(text, "Metrics")[0] == r"source\_only"
    lesion = latex_row(text, r"$\mathrm{IoU}_d$")
    assert lesion[1] == r"\textcolor{blue}{53.00}{\scriptsize$\pm$4.24}"
    assert lesion[3] == r"\textcolor{red}{\textbf{60.00}}{\scriptsize$\pm$0.00}"
    assert latex_row(text, "paper mIoU") == ["54.19", "61.42", "63.96", "-", "20.31", "-"]
    assert r"\begin{tabular}{|c|c|c|c|c|c||c|}" in text  # the upper bound behind a double bar
    assert r"capsule\_50\%" in text


def test_faulty_means_are_footnoted_beside_the_printed_figure(medical: Results, tmp_path: Path) -> None:
    variants = ("BL+AL", "BL+PL+SRT", "Ours-woPL")
    medical["cells"] = [
        medical["cells"][0] | {"label": name, "method": "semantic_transfer", "preset": "paper", "variant": name}
        for name in variants
    ]
    medical["suite"] = {"name": "ablation", "table": 2}
    medical["summary"] = None
    markdown, rows, latex = forms(medical, tmp_path)
    assert [markdown_row(markdown, name)[-1] for name in variants] == ["59.54", "63.58 [a]", "61.69 [b]"]
    assert "[a] Table 2 of the paper prints 63.58 for BL+PL+SRT; its own columns give 63.86." in markdown
    assert latex_row(latex, "paper mIoU") == ["59.54", r"63.58$^{\mathrm{a}}$", r"61.69$^{\mathrm{b}}$"]
    assert rows[1]["paper mIoU recomputed"] == "63.8550"
    assert "against" not in markdown  # no reference was named


def test_street_scenes_have_a_column_a_class_and_the_papers_line_below(street: Results, tmp_path: Path) -> None:
    markdown, rows, latex = forms(street, tmp_path)
    heads = markdown_row(markdown, "system")
    assert heads[:2] == ["road", "sidewalk"] and heads[19:] == ["mIoU", "seeds", r"against source\_only"]
    lsd = dict(zip(heads, markdown_row(markdown, "lsd"), strict=True))
    assert (lsd["road"], lsd["sky"], lsd["sidewalk"]) == ("**90.0**", "**99.0**", "*30.5*")
    assert lsd["mIoU"] == "*37.2 ± 0.6*"
    assert markdown_row(markdown, "paper: LSD")[18:20] == ["18.4", "37.1"]
    assert dict(zip(heads, markdown_row(markdown, "BL+AL"), strict=True))["train"] == "-"
    assert rows[1]["sidewalk deviation"] == "0.7071"
    systems = [line.partition(" &")[0] for line in latex.splitlines() if " & " in line]
    assert systems == [
        "Method", r"source\_only", "paper: BL", "lsd", "paper: LSD", "BL+AL", "paper: BL+AL",
        r"target\_supervised (upper bound)",
    ]  # fmt: skip
    assert latex.count("\\hline\n\\hline") == 3  # below the heads, between the groups, above the upper bound


def test_classes_may_carry_their_long_names(street: Results) -> None:
    names = {"veg": "vegetation", "light": "traffic light", "bike": "bicycle", "mbike": "Motorcycle"}
    for cell in street["cells"]:
        cell["classes"] = [names.get(name, name) for name in cell["classes"]]
    table = read_table(street)
    lsd = next(row for row in table.rows if row.label == "lsd")
    shown = {head: table.printed_figure(lsd, column) for column, head in table.columns.items()}
    assert shown["vegetation"] == "78.7" and shown["traffic light"] == "23.5" and shown["Motorcycle"] == "20.8"


def test_a_mean_over_other_classes_is_not_held_against_the_papers(street: Results) -> None:
    for cell in street["cells"]:
        cell |= {"classes": ["wall", "fold"], "iou": [10.0, 20.0], "miou": 15.0}
    table = read_table(street)
    lsd = next(row for row in table.rows if row.label == "lsd")
    assert [table.printed_figure(lsd, column) for column in table.columns] == ["25.2", "-", "-"]


@pytest.mark.parametrize("fixture", ["medical", "street"])
def test_every_line_of_the_latex_table_has_as_many_cells(
    fixture: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    _, _, text = forms(request.getfixturevalue(fixture), tmp_path)
    bars = re.search(r"\\begin\{tabular\}\{([|c]+)\}", text)
    assert bars
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {bars[1].count("c")}
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.replace(r"\$", "").count("$") % 2 == 0


def test_names_are_escaped_for_latex() -> None:
    assert escape("a_b & 5% {x} ^~\\") == r"a\_b \& 5\% \{x\} \textasciicircum{}\textasciitilde{}\textbackslash{}"


def test_names_are_escaped_for_markdown(medical: Results, tmp_path: Path) -> None:
    medical["cells"][0]["label"] = medical["cells"][1]["label"] = "a|b*"
    assert r"| a\|b\* |" in forms(medical, tmp_path)[0]


def test_a_suite_of_its_own_has_no_figures_of_the_paper(medical: Results, tmp_path: Path) -> None:
    medical["suite"]["table"] = None
    markdown, rows, latex = forms(medical, tmp_path)
    assert markdown_row(markdown, "lta/multi")[3:] == ["2", "+11.0 [10.0, 12.5]"]
    assert "paper:" not in markdown and "paper mIoU" not in latex
    assert {row["paper row"] for row in rows} == {""}


# -- odd and empty results ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", [{}, None, {"table": 3}, {"table": 1, "systems": [{"label": "lta"}, {"name": "x"}]}])
def test_results_without_cells_make_empty_tables(suite: Any, tmp_path: Path) -> None:
    markdown, rows, latex = forms({"suite": suite}, tmp_path)
    assert "| system |" in markdown and "tabular" in latex
    assert [row["system"] for row in rows] == (["lta"] if suite and suite.get("systems") else [])
    assert "Measured" not in markdown
    printed({"suite": suite})


def test_a_cell_without_a_label_is_called_after_its_system() -> None:
    lta = BenchmarkCell.model_validate({"method": "lta", "preset": "single"})
    variant = BenchmarkCell.model_validate({"method": "semantic_transfer", "preset": "paper", "variant": "BL"})
    assert (lta.label, variant.label) == ("lta (single)", "semantic_transfer (paper) BL")


def test_dates_span_the_runs(medical: Results) -> None:
    medical["cells"][0]["date"] = "2026-11-12"
    assert read_table(medical).date == "2026-11-12 to 2026-11-15"


def test_a_folder_that_cannot_be_written_is_an_error_of_one_sentence(medical: Results, tmp_path: Path) -> None:
    (tmp_path / "table.md").mkdir()
    with pytest.raises(ConfigError, match=r"cannot write .*table\.md"):
        write_tables(BenchmarkResults.model_validate(medical), tmp_path)


# -- the terminal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("fixture", ["medical", "street"])
def test_the_terminal_shows_every_figure_whole(fixture: str, width: int, request: pytest.FixtureRequest) -> None:
    text = printed(request.getfixturevalue(fixture), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    row = "lta/multi" if fixture == "medical" else "lsd"
    figures = next(line for line in text.splitlines() if line.lstrip().startswith(row)).split()[1:]
    expected = {
        "medical": ["2", "91.00", "53.00", "72.00", "2.83", "+11.0", "[10.0,", "12.5]", "61.42"],
        "street": ["2", "37.2", "0.6", "-", "37.1"],
    }
    assert figures == expected[fixture]


def test_the_terminal_tells_what_is_missing(medical: Results) -> None:
    text = printed(medical)
    assert "cdws [b]" in text and "[b] cdws: not run yet." in text


def test_no_cell_of_the_csv_is_run_by_a_spreadsheet(medical: Results, tmp_path: Path) -> None:
    for cell in medical["cells"]:
        cell["label"] = cell["label"].replace("lta", "=cmd")
    medical["suite"]["systems"] = []
    _, rows, _ = forms(medical, tmp_path)
    cells = [cell for row in rows for cell in row.values() if cell]
    assert any(cell.startswith("'=cmd") for cell in cells)
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
