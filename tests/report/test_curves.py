"""Loss curves: what was logged, and a running mean that a loop would give."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.report.curves import curves_section, read_curves, running_mean
from endotransfer.report.study import Run, Study

HEADER = "step,epoch,stage,name,value\n"


def write(folder: Path, text: str) -> Run:
    (folder / "metrics.csv").write_text(text)
    return Run("a", 0, folder)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30), st.sampled_from([3, 5]))
def test_the_running_mean_is_the_mean_of_the_last_values(values: list[float], width: int) -> None:
    literal = [np.mean(values[max(0, n - width + 1) : n + 1]) for n in range(len(values))]
    np.testing.assert_allclose(running_mean(values, width), literal, atol=1e-9)


def test_terms_and_stages_are_read_and_a_cut_line_is_passed_over(tmp_path: Path) -> None:
    rows = "10,0,warm-up,loss/net,1.5\n10,0,warm-up,lr/net,1\n20,1,transfer,loss/net,1.25\n20,1,tra"
    curves = read_curves(write(tmp_path, HEADER + rows))
    assert curves is not None
    assert list(curves.series) == ["loss/net"]
    assert (curves.series["loss/net"].steps, curves.series["loss/net"].values) == ([10, 20], [1.5, 1.25])
    assert curves.stages == [(0, "warm-up"), (10, "transfer")]


@pytest.mark.parametrize("text", ["", HEADER, "a,b\n1,2\n", HEADER + "1,0,a,lr/net,1\n"])
def test_a_table_without_losses_leaves_a_sentence(tmp_path: Path, text: str) -> None:
    run = write(tmp_path, text)
    assert read_curves(run) is None
    assert "a: no metrics.csv" in curves_section(Study(tmp_path, runs=[run]), tmp_path).body


def test_no_run_leaves_a_sentence_and_too_many_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No run folder" in curves_section(Study(tmp_path), tmp_path).body
    monkeypatch.setattr("endotransfer.report.curves.MOST", 0)
    assert "1 more systems" in curves_section(Study(tmp_path, runs=[Run("a", 0, tmp_path)]), tmp_path).body
