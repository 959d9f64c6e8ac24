"""What kinds of folder a report can be made of."""

import json
from pathlib import Path
from typing import Any

import pytest

from endotransfer.compare.benchmark_results import BenchmarkResults
from endotransfer.errors import DataError
from endotransfer.report.study import Run, Study, file_name, read_study

CELL = {"method": "lta", "preset": "multi", "seed": 1, "miou": 50.0, "classes": ["normal", "lesion"]}


def run_folder(
    path: Path, results: dict[str, Any] | None = None, config: str = "data: {source: x}\nmethod: lta"
) -> Path:
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(config)
    if results:
        (path / "results.json").write_text(json.dumps(results))
    return path


def test_a_run_folder_is_a_study_of_one(tmp_path: Path) -> None:
    study = read_study(run_folder(tmp_path / "a", {**CELL, "name": "my study"}))
    assert study.title == "my study"
    assert study.runs == [Run("lta (multi)", 1, tmp_path / "a", 50.0)]


def test_a_run_without_results_is_named_by_its_experiment(tmp_path: Path) -> None:
    study = read_study(run_folder(tmp_path / "a-seed7"))
    assert (study.cells, study.runs) == ([], [Run("lta", 7, tmp_path / "a-seed7")])


def test_a_run_whose_experiment_cannot_be_read_is_named_by_its_folder(tmp_path: Path) -> None:
    assert read_study(run_folder(tmp_path / "a", config="- 1")).runs[0].label == "a"


def test_runs_of_a_benchmark_take_the_names_of_its_cells(tmp_path: Path) -> None:
    cells = [{**CELL, "label": "Ours, new", "seed": 0}, {**CELL, "label": "same", "run": "other", "seed": 0}]
    for name in ("Ours,-new-seed0", "Ours,-new-seed1", "other"):
        run_folder(tmp_path / "runs" / name)
    (tmp_path / "results.json").write_text(json.dumps({"suite": {"name": "n"}, "cells": cells}))
    study = read_study(tmp_path)
    assert [(run.label, run.seed, run.miou) for run in study.runs] == [
        ("Ours, new", 0, 50.0), ("Ours, new", 1, None), ("same", 0, 50.0),
    ]  # fmt: skip


def test_a_folder_of_runs_needs_no_results_of_its_own(tmp_path: Path) -> None:
    run_folder(tmp_path / "x", CELL)
    assert [cell.figure("miou") for cell in read_study(tmp_path).cells] == [50.0]


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": 3}'])
def test_a_damaged_or_empty_folder_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(DataError, match=str(tmp_path)):
        read_study(tmp_path)


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        read_study(tmp_path / "none")


def test_the_frame_of_the_table_is_shown_first_and_the_order_stays() -> None:
    scores = {"a": 90.0, "b": 80.0, "source_only": 10.0, "semantic_transfer": 20.0, "target_supervised": 99.0}
    cells = [{"method": name, "label": name, "seed": 0, "miou": miou} for name, miou in scores.items()]
    results = BenchmarkResults.model_validate({"cells": cells})
    study = Study(Path(), results, [Run(name, 0, Path(name), miou) for name, miou in scores.items()])
    assert [run.label for run in study.shown(4)] == ["a", "source_only", "semantic_transfer", "target_supervised"]
    leading = study.leading()
    assert leading is not None
    assert leading.label == "a"


def test_file_names_are_plain_and_told_apart() -> None:
    assert file_name("../Ours (new)") == "ours-new"
    assert file_name("ours new", ["ours-new"]) == "ours-new-2"
    assert file_name("<>") == "system"
