"""The sensitivity figure: numbers of a sweep at their places."""

import csv
from pathlib import Path

import numpy as np

from endotransfer.compare.benchmark_results import BenchmarkResults
from endotransfer.report.heatmap import heatmap_section, read_grids
from endotransfer.report.study import Study
from tests.report_study import sweep_cells


def test_a_grid_is_the_mean_over_seeds_in_the_order_of_its_values() -> None:
    (grid,), odd = read_grids(list(reversed(sweep_cells())))
    assert (grid.keys, grid.rows, grid.columns, odd) == (("method.mu", "method.eta"), [1.0, 10.0], [0.1, 0.3], [])
    np.testing.assert_array_equal(grid.means, [[51, 55], [np.nan, 70.5]])


def test_the_picture_comes_with_its_numbers(tmp_path: Path) -> None:
    section = heatmap_section(Study(tmp_path, BenchmarkResults(cells=sweep_cells())), tmp_path)
    assert "sensitivity.png" in section.body
    assert (tmp_path / "sensitivity.png").stat().st_size > 1000
    with (tmp_path / "sensitivity.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method.mu"], row["method.eta"], row["miou"], row["seeds"]) for row in rows] == [
        ("1.0", "0.1", "51.0", "2"),
        ("1.0", "0.3", "55.0", "2"),
        ("10.0", "0.1", "", "0"),
        ("10.0", "0.3", "70.5", "2"),
    ]


def test_two_sweeps_are_two_figures_and_a_third_setting_is_told(tmp_path: Path) -> None:
    other = sweep_cells()[0].model_copy(update={"grid": {"alpha": [1, 2], "gamma": "low"}})
    three = sweep_cells()[0].model_copy(update={"grid": {"a": 1, "b": 2, "c": 3}})
    results = BenchmarkResults(cells=[*sweep_cells(), other, three])
    body = heatmap_section(Study(tmp_path, results), tmp_path).body
    assert (tmp_path / "sensitivity-2.png").exists()
    assert "a, b, c has 3 settings" in body
