"""The grids of several systems in one search, and the settings that come out best."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from endotransfer.compare.label_summary import LabelSummary
from endotransfer.compare.search import read_grids, read_search
from endotransfer.compare.searched_points import as_search_csv, best_settings, read_search_csv, searched_points
from endotransfer.compare.suite import Suite, read_suite
from endotransfer.compare.sweep_matrix import Grid
from endotransfer.errors import ConfigError
from endotransfer.methods.resolve import resolved

ROOT = Path(__file__).parents[2]
SEARCHES = ROOT / "docs/research/searches.yaml"


def summary(system: str, weight: float, miou: float | None) -> LabelSummary:
    raw = {"label": f"{system}: weight={weight}", "group": system, "grid": {"weight": weight}, "seeds": [0]}
    return LabelSummary.model_validate(raw | {"mean": {"miou": miou}, "deviation": {}})


def test_every_point_of_every_system_is_a_row(suite_file: Callable[..., Path]) -> None:
    path = suite_file(["source_only", {"name": "lta", "label": "LtA", "training": {"lr": 0.5}}, "advent"])
    grids: dict[str, Grid] = {"LtA": {"weight": [0.1, 0.2], "critic_lr": [0.001]}, "advent": {"weight": [0.3]}}
    suite = read_search(path, grids)
    assert [row.label for row in suite.rows] == [
        "LtA: weight=0.1,critic_lr=0.001", "LtA: weight=0.2,critic_lr=0.001", "advent: weight=0.3"
    ]  # fmt: skip
    assert [row.group for row in suite.rows] == ["LtA", "LtA", "advent"]
    assert suite.experiment(suite.rows[1], 0, Path("p")).training.lr == 0.5
    with pytest.raises(ConfigError, match="no system is called 'CGAN'"):
        read_search(path, {"CGAN": {"weight": [1]}})


@pytest.mark.parametrize("text", ["", "- lta", "lta: 3", "lta: {}", "lta: {weight: 3}", "lta: {weight: []}"])
def test_a_file_without_grids_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "grids.yaml").write_text(text)
    with pytest.raises(ConfigError, match="write for example"):
        read_grids(tmp_path / "grids.yaml")


def test_the_best_settings_are_those_of_the_mean_over_transfers(tmp_path: Path) -> None:
    first = [summary("lta", 0.1, 50.0), summary("lta", 0.2, 60.0), summary("cbst", 1, 40.0)]
    second = [summary("lta", 0.1, 70.0), summary("lta", 0.2, 50.0), summary("cbst", 1, None)]
    assert best_settings([searched_points(first)]) == {"lta": ("weight=0.2", 60.0), "cbst": ("weight=1", 40.0)}
    (tmp_path / "search.csv").write_text(as_search_csv(second))
    other = read_search_csv(tmp_path / "search.csv")
    assert sorted(other, key=str) == sorted(searched_points(second), key=str)
    assert best_settings([searched_points(first), other]) == {"lta": ("weight=0.1", 60.0)}  # cbst has no figure there


@pytest.mark.parametrize("text", ["system,settings\nlta,weight=1\n", "system,settings,miou\nlta,weight=1,high\n", "\0"])
def test_what_is_no_table_of_a_search_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "search.csv").write_text(text)
    with pytest.raises(ConfigError, match=r"is no table of a search; give the search\.csv"):
        read_search_csv(tmp_path / "search.csv")
    with pytest.raises(ConfigError, match="there is no file"):
        read_search_csv(tmp_path / "other.csv")


def test_the_table_has_the_best_setting_of_a_system_first() -> None:
    text = as_search_csv([summary("lta", 0.1, 50.0), summary("cbst", 1, 40.0), summary("lta", 0.2, 60.0)])
    lines = [line.split(",")[:4] for line in text.splitlines()[1:]]
    assert lines[:2] == [["lta", "weight=0.2", "1", "60.0000"], ["lta", "weight=0.1", "1", "50.0000"]]
    assert lines[2] == ["cbst", "weight=1", "1", "40.0000"]


def test_every_system_is_searched_with_eight_settings_its_own_among_them() -> None:
    grids = read_grids(SEARCHES)
    suite, table = read_search("reverse", grids), read_suite("reverse")
    searched = {row.label for row in table.rows} & set(grids)
    assert searched == set(grids)
    own = {row.label: _settings(table, row.label) for row in table.rows}
    for label in grids:
        rows = [row.label for row in suite.rows if row.group == label]
        assert len(rows) == 8, label
        assert own[label] in [_settings(suite, row) for row in rows], label


def _settings(suite: Suite, label: str) -> str:
    row = next(row for row in suite.rows if row.label == label)
    experiment = resolved(suite.experiment(row, 0, Path("p")))
    return yaml.safe_dump([experiment.method, experiment.training.model_dump(mode="json")])


def test_no_cell_of_the_csv_is_run_by_a_spreadsheet() -> None:
    (line,) = as_search_csv([summary("=cmd()", 1, 40.0)]).splitlines()[1:]
    assert line.startswith("'=cmd(),")
