"""Two runs on the same images: difference, interval, and on how many images which is better."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from endotransfer.compare.paired import compare_runs, print_comparison
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import ConfigError, DataError
from endotransfer.metrics import paired_bootstrap
from endotransfer.metrics.rates import lesion_iou
from tests.compare.conftest import finish


@pytest.fixture
def runs(make_experiment: Any, tmp_path: Path) -> list[Path]:
    experiment = make_experiment("tagged", "source_only")
    folders = []
    for name, skill in (("good", 0.9), ("bad", 0.4)):
        (tmp_path / name).mkdir()
        finish(RunFolder(tmp_path / name), experiment, skill)
        folders.append(tmp_path / name)
    return folders


def matrices(run: Path) -> Any:
    return np.array([row["matrix"] for row in json.loads((run / "scores.json").read_text())])


def test_the_difference_is_paired(runs: list[Path]) -> None:
    found = compare_runs(runs[0], runs[1], metric="iou_lesion", resamples=50)
    good, bad = matrices(runs[0]), matrices(runs[1])
    expected = paired_bootstrap(good, bad, ["a", "a", "b", "b", "c", "c"], lesion_iou, 50)
    assert [found.difference, *(found.interval or [])] == pytest.approx([100 * value for value in expected])
    assert found.values == pytest.approx([100 * lesion_iou(m.sum(0)) for m in (good, bad)])
    assert (found.groups, found.images) == (3, 6)
    better = np.mean(lesion_iou(good) > lesion_iou(bad))
    assert found.better == pytest.approx(100 * better)
    assert sum(share or 0 for share in (found.better, found.worse, found.same)) == pytest.approx(100)


def test_a_run_is_the_same_as_itself(runs: list[Path]) -> None:
    found = compare_runs(runs[0], runs[0])
    assert (found.difference, found.interval, found.same) == (0.0, [0.0, 0.0], 100.0)


def test_other_images_are_refused(runs: list[Path]) -> None:
    rows = json.loads((runs[1] / "scores.json").read_text())
    (runs[1] / "scores.json").write_text(json.dumps(rows[:-1]))
    with pytest.raises(DataError, match=r"good and .*bad were not measured on the same masks"):
        compare_runs(runs[0], runs[1])


def test_an_unknown_metric_is_refused(runs: list[Path]) -> None:
    with pytest.raises(ConfigError, match="no metric 'iuo_lesion'; did you mean 'iou_lesion'"):
        compare_runs(runs[0], runs[1], metric="iuo_lesion")


def test_the_table_says_it_in_few_lines(runs: list[Path]) -> None:
    text = io.StringIO()
    print_comparison(compare_runs(runs[0], runs[1], resamples=50), Console(file=text, width=120))
    lines = text.getvalue().splitlines()
    assert len(lines) == 6
    assert "first - second, 95 %" in lines[4]
    assert lines[5].startswith("Of 6 of 6 images the first is on")
    one_group = replace(compare_runs(runs[0], runs[1], resamples=50), interval=None, better=None)
    print_comparison(one_group, Console(file=text, width=120))
    assert "no interval" in text.getvalue()
