"""What a table says of its own certainty: what intervals rest on, who is not told apart, what is odd about a row."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from endotransfer.compare.benchmark_results import BenchmarkResults
from endotransfer.report.benchmark_rows import read_table
from endotransfer.report.benchmark_table import print_benchmark, write_tables
from endotransfer.report.html_report import write_report
from endotransfer.report.interval_words import basis_sentences
from endotransfer.report.ranking import why_unmarked
from tests.report.conftest import medical_cell

BOTH = {"over": "seeds and images", "groups": 628, "group_kinds": {"wcebleedgen": {"cluster": 628}}}
CLUSTERS = "628 groups of test images: 628 near-duplicate clusters (wcebleedgen); patients are not known"


def study(seeds: int = 3, basis: dict[str, Any] | None = None, **more: Any) -> BenchmarkResults:
    """source_only around 50 and lta around 60; `more` goes into lta's summary."""
    about = {**BOTH, **(basis or {}), "seeds": list(range(seeds))}
    interval = [[-6.8, 26.1], [18.8, 21.5]][bool(more.pop("sure", False))]
    summary = [
        {"label": "source_only", "intervals": {**about, "miou": [44.0, 56.0]}},
        {"label": "lta", "intervals": {**about, "miou": [47.2, 72.8], "iou_lesion": None}, "difference": 9.7,
         "interval": interval, "differences": {"against": "source_only", **about}, **more},
    ]  # fmt: skip
    cells = [medical_cell(label, seed, 80, 20 + 20 * (label == "lta")) for label in ("source_only", "lta")
             for seed in range(seeds)]  # fmt: skip
    suite = {"name": "capsule", "reference": "source_only"}
    return BenchmarkResults.model_validate({"suite": suite, "summary": summary, "cells": cells})


def texts(results: BenchmarkResults, folder: Path) -> dict[str, str]:
    """Every form of the table as text of one line."""
    found = {path.suffix: path.read_text() for path in write_tables(results, folder)}
    screen = io.StringIO()
    print_benchmark(results, Console(file=screen, width=100))
    (folder / "results.json").write_text(json.dumps(results.to_dict()))
    page = write_report(folder, console=Console(quiet=True)).read_text()
    return {
        form: " ".join(text.split()) for form, text in {**found, "terminal": screen.getvalue(), "page": page}.items()
    }


def test_every_form_says_what_its_intervals_rest_on(tmp_path: Path) -> None:
    for form, text in texts(study(), tmp_path).items():
        said = f"Intervals (95 %) are over 3 seeds and {CLUSTERS}."
        assert (said.replace("%", r"\%") if form == ".tex" else said) in text, form


def test_every_form_prints_the_interval_of_the_mean_and_marks_what_is_not_told_apart(tmp_path: Path) -> None:
    found = texts(study(), tmp_path)
    assert "| 60.00 ± 0.00 | [47.2, 72.8] | 3 | +9.7 [-6.8, 26.1] ~ |" in found[".md"]
    assert "+9.7 [-6.8, 26.1] ~" in found["terminal"]
    assert r"+9.7 [-6.8, 26.1] \textasciitilde{}" in found[".tex"] and r"mIoU 95~\% & [44.0, 56.0]" in found[".tex"]
    assert "[47.2, 72.8]" in found["page"] and "-6.8 to +26.1 ~" in found["page"]
    row = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))[1]
    assert (row["mIoU low"], row["mIoU high"], row["told_apart"]) == ("47.2000", "72.8000", "False")
    assert row["intervals"].startswith("Intervals (95 %) are over 3 seeds")


def test_a_difference_that_is_told_apart_has_no_tilde(tmp_path: Path) -> None:
    assert "| +9.7 [18.8, 21.5] |" in texts(study(sure=True), tmp_path)[".md"]


@pytest.mark.parametrize(
    ("seeds", "basis", "said"),
    [
        (1, {"over": "images"}, f"Intervals (95 %) are over {CLUSTERS} alone; seeds not resampled: one seed."),
        (3, {"over": "images"},
         f"Intervals (95 %) are over {CLUSTERS} alone; seeds not resampled, so they are too narrow."),
        (3, {"over": "seeds", "groups": None}, "Intervals (95 %) are over 3 seeds alone, on the same test images."),
        (2, {"groups": 12, "group_kinds": {"ours": {"patient": 12}}},
         "Intervals (95 %) are over 2 seeds and 12 groups of test images: 12 patients (ours)."),
    ],
)  # fmt: skip
def test_what_intervals_may_rest_on(seeds: int, basis: dict[str, Any], said: str) -> None:
    assert basis_sentences(study(seeds, basis)) == [said]


def test_rows_on_another_basis_are_told_apart() -> None:
    results = study(intervals={**BOTH, "over": "images", "seeds": [0], "miou": [1.0, 2.0]})
    assert basis_sentences(results) == [
        f"Intervals (95 %) (source_only) are over 3 seeds and {CLUSTERS}.",
        f"Intervals (95 %) (lta) are over {CLUSTERS} alone; seeds not resampled: one seed.",
    ]


def test_an_older_file_is_read_and_its_intervals_are_said_to_be_too_narrow(tmp_path: Path) -> None:
    """It has no intervals of means, no groups, no standings; seeds were not drawn."""
    raw = study(sure=True).to_dict()
    raw["summary"] = [
        {"label": "source_only"},
        {"label": "lta", "difference": 9.7, "interval": [8.8, 10.4],
         "differences": {"against": "source_only", "seeds": [0, 1, 2], "level": 95.0, "over": "images",
                         "resamples": 1000, "miou": {"mean": 9.7, "interval": [8.8, 10.4]}}},
    ]  # fmt: skip
    for cell in raw["cells"]:  # type: ignore[attr-defined]
        cell["intervals"] = {"level": 95.0, "resamples": 9, "groups": 628, "miou": [1.0, 2.0]}
    results = BenchmarkResults.model_validate(raw)
    (said,) = basis_sentences(results)
    assert said.startswith("Intervals (95 %) are over 628 groups of test images alone; seeds not resampled")
    text = texts(results, tmp_path)[".md"]
    assert "| +9.7 [8.8, 10.4] ~ |" in text and "mIoU 95 %" not in text and "IoU w" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_has_room_for_every_column(width: int) -> None:
    raw = study(interval=[-100.0, 100.0]).to_dict()
    cells: Any = raw["cells"]
    for cell in cells:
        cell |= {"iou_lesion_within": 45.25, "normal_painted": 100.0}
    screen = io.StringIO()
    print_benchmark(BenchmarkResults.model_validate(raw), Console(file=screen, width=width))
    text = screen.getvalue()
    assert max(map(len, text.splitlines())) <= width and "…" not in text
    line = next(line for line in text.splitlines() if line.split()[:1] == ["lta"])
    assert line.split() == [
        "lta", "3", "80.00", "40.00", "45.25", "100.00", "60.00", "0.00", "+9.7", "[-100.0,", "100.0]", "~",
    ]  # fmt: skip
    assert "FP n: pixels of normal test images predicted as lesion, smaller is better" in " ".join(text.split())


# -- why nobody is marked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (study(1), "one seed each, and other seeds may order them otherwise"),
        (study(3, {"groups": 5}), "the test images are only 5 groups"),
        (study(3), "these results hold no intervals between rows"),
        (study(3, standings={"miou": {"place": None, "leader": "lta"}}), "none is told apart from all others"),
    ],
)
def test_why_no_row_is_marked(results: BenchmarkResults, said: str) -> None:
    assert why_unmarked(read_table(results)) == f"No row is marked as best: {said}."


def test_the_head_of_the_page_calls_no_winner(tmp_path: Path) -> None:
    page = texts(study(), tmp_path)["page"]
    assert "lta, not told apart from 1 other" in page and "source_only has 50.0, not told apart" in page
    assert "best system" not in page


# -- rows -----------------------------------------------------------------------------------------------------------


def test_collapsed_runs_are_noted_with_their_seeds() -> None:
    raw = study().to_dict()
    cells: Any = raw["cells"]
    cells[0]["collapsed"] = cells[2]["collapsed"] = "predicts no lesion at all"
    cells[1]["collapsed"] = "predicts almost no lesion"
    for cell in cells[3:]:
        cell["collapsed"] = "paints every image"
    notes = [row.notes for row in read_table(BenchmarkResults.model_validate(raw)).rows]
    said = "source_only: predicts no lesion at all (seed 0, 2); predicts almost no lesion (seed 1)."
    assert notes == [(said,), ("lta: paints every image.",)]


def test_a_row_that_was_trained_otherwise_has_a_note() -> None:
    (note,) = read_table(study(settings={"training.epochs": [20, 10], "model.norm": ["batch", "group"]})).rows[1].notes
    said = "training.epochs 20 (the other rows: 10); model.norm batch (the other rows: group)"
    assert note == f"lta was trained otherwise: {said}."


def test_a_figure_that_no_run_has_takes_no_column() -> None:
    raw = study().to_dict()
    assert list(read_table(BenchmarkResults.model_validate(raw)).columns) == ["iou_normal", "iou_lesion", "miou"]
    raw["cells"][0]["normal_painted"] = 0.5  # type: ignore[index]
    assert "normal_painted" in read_table(BenchmarkResults.model_validate(raw)).columns
