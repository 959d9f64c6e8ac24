"""Callbacks are told of every step, pass, checkpoint and epoch, in order."""

from pathlib import Path

import pytest

from endotransfer.api import train
from endotransfer.engine.callbacks import Callback, StopTraining, TrainingEvent
from endotransfer.engine.checkpoint import list_steps
from endotransfer.testing.fixtures import MakeExperiment


class Recorder(Callback):
    def __init__(self) -> None:
        self.told: list[str] = []
        self.losses: list[float | None] = []

    def on_train_start(self, event: TrainingEvent) -> None:
        self.told.append(f"start at {event.step}")

    def on_train_end(self, event: TrainingEvent) -> None:
        self.told.append(f"end at {event.step}")

    def on_step(self, event: TrainingEvent) -> None:
        self.told.append(f"step {event.step} of {event.steps}")
        self.losses.append(event.loss)

    def on_target_pass(self, event: TrainingEvent) -> None:
        assert all(name.startswith("pass/") for name in event.figures)
        self.told.append(f"pass before epoch {event.epoch}")

    def on_checkpoint(self, event: TrainingEvent) -> None:
        self.told.append(f"checkpoint {event.step}")

    def on_epoch_end(self, event: TrainingEvent) -> None:
        self.told.append(f"epoch {event.epoch} ({event.stage})")


def test_a_callback_is_told_of_everything_in_order(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "cbst", epochs=2, steps_per_epoch=2, checkpoint_every=3)
    recorder = Recorder()
    train(experiment, tmp_path / "run", callbacks=[recorder])
    first = ["step 1 of 4", "step 2 of 4"]
    assert recorder.told[:3] == ["start at 0", *first]
    assert recorder.told[-5:] == ["checkpoint 3", "step 4 of 4", "checkpoint 4", recorder.told[-2], "end at 4"]
    assert recorder.told[-2].startswith("epoch 1 (")
    assert [told for told in recorder.told if told.startswith("pass")] == ["pass before epoch 1"]
    assert all(loss is not None and loss > 0 for loss in recorder.losses)


def test_a_callback_that_fails_ends_the_run_and_leaves_its_checkpoint(
    make_experiment: MakeExperiment, tmp_path: Path
) -> None:
    class Failing(Callback):
        def on_checkpoint(self, event: TrainingEvent) -> None:
            raise RuntimeError("enough")

    experiment = make_experiment("tagged", "source_only", checkpoint_every=2)
    with pytest.raises(RuntimeError, match="enough") as caught:
        train(experiment, tmp_path / "run", callbacks=[Recorder(), Failing()])
    (note,) = caught.value.__notes__
    assert note.startswith("raised by the callback ") and note.endswith(".Failing in on_checkpoint at step 2")
    assert list_steps(tmp_path / "run" / "checkpoints") == [2]


class StopAt(Recorder):
    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_step(self, event: TrainingEvent) -> None:
        super().on_step(event)
        if event.step == self.step:
            raise StopTraining


def test_a_callback_that_asks_to_stop_leaves_a_run_that_can_be_resumed(
    make_experiment: MakeExperiment, tmp_path: Path
) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=4)
    stopping, resumed, whole = StopAt(2), Recorder(), Recorder()
    assert train(experiment, tmp_path / "run", callbacks=[stopping]) is None
    assert stopping.told[-2:] == ["checkpoint 2", "end at 2"]
    assert list_steps(tmp_path / "run" / "checkpoints") == [2]
    results = train(experiment, tmp_path / "run", resume=True, callbacks=[resumed])
    assert results is not None
    assert resumed.told[0] == "start at 2"
    train(experiment, tmp_path / "whole", callbacks=[whole])
    assert stopping.losses + resumed.losses == whole.losses


class StopAfterEpoch(Recorder):
    def on_epoch_end(self, event: TrainingEvent) -> None:
        super().on_epoch_end(event)
        assert event.figures["loss/net"] == event.loss
        raise StopTraining


def test_a_stop_at_the_end_of_an_epoch_leaves_there_and_then(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    """Not after the next epoch's pass over the target and a step of it."""
    experiment = make_experiment("tagged", "cbst", epochs=2, steps_per_epoch=2)
    stopping, resumed = StopAfterEpoch(), Recorder()
    assert train(experiment, tmp_path / "run", callbacks=[stopping]) is None
    assert stopping.told[-2:] == [stopping.told[-2], "end at 2"]
    assert stopping.told[-2].startswith("epoch 0 (")
    assert list_steps(tmp_path / "run" / "checkpoints") == [2]
    assert train(experiment, tmp_path / "run", resume=True, callbacks=[resumed]) is not None
    assert resumed.told[:2] == ["start at 2", "pass before epoch 1"]


def test_a_stop_after_the_last_epoch_is_no_stop(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=2)
    assert train(experiment, tmp_path / "run", callbacks=[StopAfterEpoch()]) is not None
