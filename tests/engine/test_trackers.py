"""MLflow and W&B get the figures of metrics.csv, in one run however often training was interrupted."""

import json
import sys
from pathlib import Path

import pytest

from endotransfer.config import Experiment, experiment_from
from endotransfer.engine.callbacks import Callback, StopTraining, TrainingEvent
from endotransfer.engine.run import train
from endotransfer.engine.run_log import read_log
from endotransfer.engine.trackers import Trackers
from endotransfer.errors import ConfigError
from endotransfer.testing.fixtures import MakeExperiment


class StopAtOnce(Callback):
    def on_step(self, event: TrainingEvent) -> None:
        raise StopTraining


def train_in_two_sittings(experiment: Experiment, out: Path) -> None:
    assert train(experiment, out, callbacks=[StopAtOnce()]) is None
    assert train(experiment, out, resume=True) is not None


def logged_losses(run: Path) -> list[tuple[int, float]]:
    return [(row.step, row.value) for row in read_log(run) if row.name == "loss/net"]


def test_mlflow_holds_one_run_with_the_figures_of_the_table(
    make_experiment: MakeExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracking = pytest.importorskip("mlflow.tracking", reason="MLflow is not installed (endotransfer[mlflow])")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run = tmp_path / "run"
    train_in_two_sittings(
        make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=3, loggers=["mlflow"]), run
    )
    client = tracking.MlflowClient((run / "mlflow").as_uri())
    (kept,) = client.search_runs([one.experiment_id for one in client.search_experiments()])
    assert kept.info.status == "FINISHED" and kept.info.run_name == "run"
    history = client.get_metric_history(kept.info.run_id, "loss/net")
    assert [(one.step, float(f"{one.value:.8g}")) for one in history] == logged_losses(run)
    assert kept.data.params["method/name"] == "source_only"
    assert kept.data.metrics["results/miou"] == json.loads((run / "results.json").read_text())["miou"]


def test_wandb_writes_offline_and_goes_on_under_the_same_name(
    make_experiment: MakeExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="W&B is not installed (endotransfer[wandb])")
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "nobody-logged-in"))
    run = tmp_path / "run"
    train_in_two_sittings(make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=3, loggers=["wandb"]), run)
    name = json.loads((run / "trackers.json").read_text())["wandb"]
    sittings = list((run / "wandb").glob("offline-run-*"))
    assert len(sittings) == 2 and all(sitting.name.endswith(name) for sitting in sittings)
    assert all(list(sitting.glob("*.wandb")) for sitting in sittings)


def test_a_tracker_that_fails_does_not_cost_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As one that is broken, or whose server is gone: here one that cannot be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "lightning.pytorch.loggers", None)
        trackers = Trackers(["mlflow"], experiment_from({"data": {"source": "a"}}), tmp_path)
        trackers.write(1, {"loss/net": 1.0})
        trackers.write(2, {"loss/net": 1.0})
        trackers.close("finished")
    (note,) = capsys.readouterr().err.splitlines()
    assert note.startswith("note: mlflow failed (") and note.endswith("); the run goes on without it.")


def test_a_missing_extra_is_one_sentence_and_leaves_no_folder(
    make_experiment: MakeExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    sentence = (
        r"^training.loggers names mlflow, which is not installed; install endotransfer\[mlflow\], or leave it out\.$"
    )
    with pytest.raises(ConfigError, match=sentence):
        train(make_experiment("tagged", "source_only", loggers=["tensorboard", "mlflow"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_one_name_is_a_list_of_one_and_the_former_setting_still_works() -> None:
    def loggers(**training: object) -> tuple[str, ...]:
        return experiment_from({"data": {"source": "a"}, "training": training}).training.loggers

    assert loggers() == loggers(tensorboard=True) == loggers(loggers="tensorboard") == ("tensorboard",)
    assert loggers(tensorboard=False) == loggers(loggers=[]) == ()
    assert loggers(loggers=["wandb", "mlflow"]) == ("wandb", "mlflow")
