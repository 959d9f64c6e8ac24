"""One cell of a benchmark: its training, its log, and what it leaves behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from endotransfer.compare.run_cell import Outcome, Task, run_cell
from endotransfer.config import as_yaml
from endotransfer.engine.checkpoint.manifest import MANIFEST, sealed
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import CheckpointError, DataError, EndotransferError
from endotransfer.methods.resolve import resolved
from tests.compare.conftest import MakeSuite
from tests.engine.test_graphs import stop_at


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


Resumed = Callable[..., list[bool]]


@pytest.fixture
def attempts(make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resumed:
    """Run a cell that was begun, with going on ending in `error`: whether each attempt was a resumed one."""
    experiment = resolved(make_experiment("tagged", "source_only"))

    def attempt(error: Exception, *, saves: bool = False) -> list[bool]:
        found: list[bool] = []

        def train(experiment: Any, run: Path, *, resume: bool, **options: Any) -> None:
            found.append(resume)
            if saves:
                (run / "checkpoints" / "step-00000007").mkdir(parents=True)
            if resume:
                raise error

        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "config.yaml").write_text(as_yaml(experiment))
        monkeypatch.setattr("endotransfer.compare.run_cell.train", train)
        outcome = run_cell(Task(experiment, tmp_path / "run", tmp_path / "log"))
        assert (outcome.error is None) == (found[-1] is False)
        return found

    return attempt


def of_resuming(error: EndotransferError) -> EndotransferError:
    error.of_resuming = True
    return error


@pytest.mark.parametrize(
    "error", [RuntimeError("params and exp_avgs differ"), of_resuming(DataError("changed"))], ids=str
)
def test_a_cell_that_cannot_be_gone_on_with_is_begun_anew(attempts: Resumed, tmp_path: Path, error: Exception) -> None:
    assert attempts(error) == [True, False]
    log = (tmp_path / "log").read_text()
    assert str(error) in log and "begun anew: it could not be gone on with" in log
    assert ("Traceback" in log) == isinstance(error, RuntimeError)


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), RuntimeError("CUDA out of memory"), CheckpointError("cannot write")],
    ids=str,
)
def test_what_is_no_fault_of_resuming_leaves_a_cell_to_be_gone_on_with(attempts: Resumed, error: Exception) -> None:
    assert attempts(error) == [True]


def test_a_cell_that_got_further_is_gone_on_with_next_time(attempts: Resumed) -> None:
    assert attempts(ValueError("later"), saves=True) == [True]


@pytest.mark.parametrize("newer", [False, True])
def test_a_cell_without_a_usable_checkpoint_is_begun_anew_unless_a_newer_version_can_use_it(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newer: bool
) -> None:
    experiment = resolved(make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=2))
    task = Task(experiment, tmp_path / "run", tmp_path / "log")
    with monkeypatch.context() as leaving:
        leaving.setattr(Trainer, "_save_if_due", stop_at(1, Trainer._save_if_due))
        assert run_cell(task).stopped
    (checkpoint,) = (task.run / "checkpoints").iterdir()
    (checkpoint / MANIFEST).write_bytes(sealed({"format": 99}) if newer else b"{}")
    outcome = run_cell(task)
    if newer:
        assert outcome.error is not None and "update endotransfer" in outcome.error and checkpoint.is_dir()
    else:
        assert outcome.results is not None
    assert ("begun anew" in task.log.read_text()) != newer
