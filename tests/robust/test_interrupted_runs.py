"""Runs that were killed, stopped or begun on other data: they go on, or say in one sentence why they cannot."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import CheckpointError, ConfigError, DataError, TrainingDiverged


class Killed(BaseException):
    """What a kill looks like from inside: nothing more is done."""


@pytest.fixture
def kill_after(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`kill_after(step)`: training ends there without saving."""

    def arrange(step: int) -> None:
        original = Trainer._train_step

        def dying(self: Trainer, *args: Any) -> Any:
            if self.step == step:
                raise Killed
            return original(self, *args)

        monkeypatch.setattr(Trainer, "_train_step", dying)

    return arrange


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, two[name]) for name, value in one.items())


@pytest.mark.parametrize(
    ("kill", "every"),
    [
        (13, 7),  # six passes after the checkpoint, which still needs its own
        (5, 4),  # the checkpoint is at an epoch's first step: the killed run had passed over the target already
        (3, 100),  # before any checkpoint
    ],
)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    make_experiment: Any, tmp_path: Path, kill_after: Any, monkeypatch: pytest.MonkeyPatch, kill: int, every: int
) -> None:
    settings = {"epochs": 8, "steps_per_epoch": 2, "checkpoint_every": every}
    experiment = make_experiment("tagged", "semantic_transfer", "paper", **settings)
    engine.train(experiment, tmp_path / "straight")
    with monkeypatch.context():
        kill_after(kill)
        with pytest.raises(Killed):
            engine.train(experiment, tmp_path / "killed")
    monkeypatch.undo()
    engine.train(experiment, tmp_path / "killed", resume=True)
    assert same(weights(tmp_path / "straight"), weights(tmp_path / "killed"))
    logs = [(tmp_path / run / "metrics.csv").read_text() for run in ("straight", "killed")]
    assert logs[0] == logs[1]


def test_sigterm_saves_and_leaves(make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Trainer._train_step

    def interrupted(self: Trainer, *args: Any) -> Any:
        if self.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, *args)

    monkeypatch.setattr(Trainer, "_train_step", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    assert engine.train(make_experiment("tagged", "source_only"), tmp_path / "run") is None
    assert list_steps(tmp_path / "run" / "checkpoints") == [5]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_signal_means_now(make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(self: Trainer, *args: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Trainer, "_train_step", twice)
    with pytest.raises(KeyboardInterrupt):
        engine.train(make_experiment("tagged", "source_only"), tmp_path / "run")


def test_a_finished_run_is_not_measured_again(make_experiment: Any, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=2)
    first = engine.train(experiment, tmp_path / "run")
    assert engine.train(experiment, tmp_path / "run", resume=True) == first
    (tmp_path / "run" / "results.json").write_text("{half a file")
    again = engine.train(experiment, tmp_path / "run", resume=True)
    assert first is not None and again is not None
    assert again["miou"] == first["miou"]


def test_a_run_does_not_go_on_with_other_images(make_experiment: Any, tasks: dict[str, Path], tmp_path: Path) -> None:
    data = Path(shutil.copytree(tasks["tagged"], tmp_path / "tagged"))
    experiment = make_experiment("tagged", "source_only", data=data, epochs=1, steps_per_epoch=2)
    engine.train(experiment, tmp_path / "run")
    (tmp_path / "run" / "results.json").unlink()
    table = data / "gastroscopy" / "labels.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:-1]))
    last = sorted((data / "gastroscopy" / "images").iterdir())[-1]
    last.unlink()
    (data / "gastroscopy" / "masks" / last.name).unlink(missing_ok=True)
    with pytest.raises(DataError, match="images have changed"):
        engine.train(experiment, tmp_path / "run", resume=True)


def test_force_keeps_the_old_run_until_the_new_one_can_begin(
    make_experiment: Any, tasks: dict[str, Path], tmp_path: Path
) -> None:
    data = Path(shutil.copytree(tasks["tagged"], tmp_path / "tagged"))
    experiment = make_experiment("tagged", "source_only", data=data, epochs=1, steps_per_epoch=2)
    engine.train(experiment, tmp_path / "run")
    image = sorted((data / "gastroscopy" / "images").iterdir())[0]
    image.write_bytes(b"broken")
    with pytest.raises(DataError):
        engine.train(experiment, tmp_path / "run", force=True)
    assert (tmp_path / "run" / "results.json").exists()


def test_force_never_removes_what_no_run_wrote(make_experiment: Any, tmp_path: Path) -> None:
    out = tmp_path / "experiment"
    (out / "data").mkdir(parents=True)
    (out / "config.yaml").write_text("data: {}")
    (out / "data" / "precious.png").write_bytes(b"years of work")
    with pytest.raises(ConfigError, match="which no run wrote"):
        engine.train(make_experiment("tagged", "source_only"), out, force=True)
    assert (out / "data" / "precious.png").exists()


def test_weights_that_are_not_finite_are_never_saved(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Trainer._train_step

    def breaking(self: Trainer, *args: Any) -> Any:
        note = original(self, *args)
        with torch.no_grad():
            next(self.method.parameters()).fill_(torch.nan)
        return note

    monkeypatch.setattr(Trainer, "_train_step", breaking)
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1)
    with pytest.raises(TrainingDiverged, match="not saved"):
        engine.train(experiment, tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_full_disk_while_logging_is_one_sentence(make_experiment: Any, tmp_path: Path, monkeypatch: Any) -> None:
    original = Trainer._train_step

    def blocking(self: Trainer, *args: Any) -> Any:
        log = self.run.path / "metrics.csv"
        if log.is_file():
            log.unlink()
            log.mkdir()  # any failed write will do
        return original(self, *args)

    monkeypatch.setattr(Trainer, "_train_step", blocking)
    with pytest.raises(CheckpointError, match=r"metrics\.csv"):
        engine.train(make_experiment("tagged", "source_only"), tmp_path / "run")
