"""One cell of a benchmark: its training, its log, and what it leaves behind."""

from pathlib import Path
from typing import Any

import pytest

from endotransfer.compare.run_cell import Outcome, Task, run_cell
from tests.compare.conftest import MakeSuite


def test_a_cell_is_trained_and_its_log_kept(make_experiment: Any, tmp_path: Path) -> None:
    task = Task(
        make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1), tmp_path / "run", tmp_path / "log"
    )
    outcome = run_cell(task)
    assert outcome.results is not None and outcome.results["miou"] is not None
    assert "step 1 of 1" in task.log.read_text()
    assert Outcome(1.0).stopped


@pytest.mark.parametrize("results", [{"miou": 50.0}, None])
def test_a_finished_cell_leaves_no_checkpoints_and_a_stopped_one_does(
    make_suite: MakeSuite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: dict[str, float] | None
) -> None:
    def train(experiment: Any, run: Path, **options: Any) -> Any:
        for name in ("checkpoints", "maps", "model"):
            (run / name).mkdir(parents=True)
        return results

    monkeypatch.setattr("endotransfer.compare.run_cell.train", train)
    suite = make_suite(["source_only"])
    experiment = suite.experiment(suite.rows[0], 0, tmp_path / "phantom")
    run_cell(Task(experiment, tmp_path / "run", tmp_path / "log"))
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == ({"model"} if results else {"checkpoints", "maps", "model"})
