"""A grid of settings: its points, its matrix and its table."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from endotransfer.compare.label_summary import LabelSummary
from endotransfer.compare.sweep import as_csv, print_sweep, read_grid, read_sweep
from endotransfer.compare.sweep_matrix import Grid, Measured, matrix_of
from endotransfer.errors import ConfigError
from endotransfer.results import Results

PAPER = {"name": "semantic_transfer", "preset": "paper"}
GRID: Grid = {"mu": [1, 10.0], "eta": [0.3, 0.5]}


@pytest.fixture
def path(suite_file: Callable[..., Path]) -> Path:
    return suite_file(["source_only", {**PAPER, "label": "Ours", "training": {"lr": 0.5}}], method=PAPER)


def test_a_grid_is_read() -> None:
    assert read_grid(["mu=1,10", "voting=none,in_place"]) == {"mu": [1, 10], "voting": ["none", "in_place"]}


@pytest.mark.parametrize("texts", [[], ["mu"], ["mu="], ["=1"], ["mu=1,1"], ["mu=[1"], ["mu=1", "mu=2"]])
def test_what_is_no_grid_is_one_sentence(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="--grid"):
        read_grid(texts)


def test_every_point_is_a_row_of_the_file_s_method(path: Path) -> None:
    suite = read_sweep(path, GRID)
    assert [row.label for row in suite.rows] == ["mu=1,eta=0.3", "mu=1,eta=0.5", "mu=10.0,eta=0.3", "mu=10.0,eta=0.5"]
    assert suite.rows[1].method == {**PAPER, "mu": 1, "eta": 0.5}
    assert suite.rows[1].grid == {"mu": 1, "eta": 0.5}
    assert suite.reference_label == "mu=10.0,eta=0.3"  # the paper's own point


def test_sections_may_be_swept_and_a_row_may_be_the_base(path: Path) -> None:
    suite = read_sweep(path, {"training.lr": [0.1, 0.5], "mu": [10.0]}, system="Ours")
    experiments = [suite.experiment(row, 0, Path("p")) for row in suite.rows]
    assert [experiment.training.lr for experiment in experiments] == [0.1, 0.5]
    assert suite.reference_label == "training.lr=0.5,mu=10.0"
    assert read_sweep(path, {"mu": [3]}).reference_label is None


@pytest.mark.parametrize(
    ("grid", "options", "words"),
    [
        ({"nu": [1]}, {}, "unknown key 'nu'.*did you mean 'mu'"),
        ({"data.size": [64]}, {}, "keys of the method, of model and of training"),
        ({"label": [1]}, {}, "no setting of a method"),
        ({"mu": [1]}, {"system": "Theirs"}, "no system is called 'Theirs'; there are source_only, Ours"),
        ({"mu": [1]}, {"overrides": ["method=null"]}, "has no `method` to sweep"),
        ({"mu": list(range(1001))}, {}, "1001 points"),
    ],
)
def test_what_cannot_be_swept_is_one_sentence(path: Path, grid: Any, options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_sweep(path, grid, **options)


def test_an_experiment_without_systems_can_be_swept(suite_file: Callable[..., Path]) -> None:
    suite = read_sweep(suite_file(None, method="semantic_transfer"), {"mu": [1, 2]})
    assert suite.rows[0].method == {"name": "semantic_transfer", "mu": 1}


def cell(mu: float, eta: float, miou: float | None) -> Measured:
    return {"mu": mu, "eta": eta}, Results(method="semantic_transfer", figures={"miou": miou})


def test_the_matrix_has_means_over_seeds_in_the_grid_s_order() -> None:
    cells = [cell(1, 0.3, 10.0), cell(1, 0.3, 20.0), cell(10.0, 0.5, 40.0), cell(10.0, 0.3, None)]
    matrix = matrix_of(GRID, cells)
    assert matrix.keys == ["mu", "eta"]
    assert matrix.means["miou"] == [[15.0, None], [None, 40.0]]
    single = Results(method="semantic_transfer", figures={"miou": 3.0})
    assert matrix_of({"mu": [1, 2]}, [({"mu": 2}, single)]).means["miou"] == [None, 3.0]


def test_the_csv_has_a_line_for_each_finished_point() -> None:
    grid, mean, deviation = {"mu": 1, "eta": 0.3}, {"miou": 15.0}, {"miou": 7.07107}
    raw = {"label": "mu=1", "grid": grid, "seeds": [0, 1], "mean": mean, "deviation": deviation}
    head, line = as_csv(GRID, [LabelSummary.model_validate(raw)]).splitlines()
    assert head.startswith("mu,eta,seeds,miou,miou_deviation,iou_normal,")
    assert line == "1,0.3,2,15.0000,7.0711,,,,,,,,,,"


def test_the_matrix_is_printed_with_dashes_for_what_is_missing() -> None:
    text = io.StringIO()
    print_sweep(matrix_of(GRID, [cell(10.0, 0.5, 40.0)]), Console(file=text, width=80))
    assert "across: eta" in text.getvalue()
    assert text.getvalue().splitlines()[-1].split() == ["10.0", "-", "40.00"]


def test_no_cell_of_the_csv_is_run_by_a_spreadsheet() -> None:
    grid = {"mu": "=cmd|' /C calc'!A0", "eta": -0.5}
    raw = {"label": "x", "grid": grid, "seeds": [0], "mean": {}, "deviation": {}}
    _, line = as_csv(GRID, [LabelSummary.model_validate(raw)]).splitlines()
    assert line.startswith("'=cmd|' /C calc'!A0,-0.5,1,")
