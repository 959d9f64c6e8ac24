"""Small parts of the engine, each for itself."""

from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn

from endotransfer.config import TrainingConfig
from endotransfer.engine.callbacks import TrainingEvent
from endotransfer.engine.gradients import clipped_norm
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.plan import lay_out
from endotransfer.engine.schedule import lr_factor, with_warmup
from endotransfer.engine.training_data import masked_share, worker_count
from endotransfer.engine.training_progress import TrainingProgress
from endotransfer.errors import CheckpointError
from endotransfer.methods.task import Stage


def test_the_paper_decays_by_a_staircase() -> None:
    training = TrainingConfig()
    factors = [lr_factor(training, step, 7420) for step in (0, 949, 950, 1899, 1900)]
    assert factors == pytest.approx([1, 1, 0.7, 0.7, 0.49])


@pytest.mark.parametrize(("schedule", "middle"), [("poly", 0.5**0.9), ("cosine", 0.5), ("constant", 1.0)])
def test_other_schedules_start_at_one_and_know_their_middle(schedule: str, middle: float) -> None:
    training = TrainingConfig.model_validate({"schedule": schedule})
    assert lr_factor(training, 0, 100) == 1
    assert lr_factor(training, 50, 100) == pytest.approx(middle)


def test_warm_up_rises_in_a_line() -> None:
    training = TrainingConfig(warmup_steps=4, schedule="constant")
    assert [lr_factor(training, step, 100) for step in range(5)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])


def test_a_method_s_warm_up_is_a_share_of_all_steps_unless_the_experiment_has_its_own() -> None:
    training = TrainingConfig(schedule="constant")
    assert with_warmup(training, 0.0375, 400).warmup_steps == 15
    assert with_warmup(training, 0.0, 400) == training
    assert with_warmup(training.model_copy(update={"warmup_steps": 3}), 0.0375, 400).warmup_steps == 3


def test_a_plan_knows_every_step_once() -> None:
    plan = lay_out([Stage("warm-up", 1), Stage("transfer", 2, target_pass=True)], steps_per_epoch=3)
    assert [(epoch.stage.name, epoch.stage_epoch, epoch.first, epoch.last) for epoch in plan] == [
        ("warm-up", 0, 0, 3),
        ("transfer", 0, 3, 6),
        ("transfer", 1, 6, 9),
    ]


def test_epochs_between_two_passes_read_the_maps_of_the_last() -> None:
    plan = lay_out([Stage("warm-up", 1), Stage("rounds", 5, target_pass=True, pass_every=2)], steps_per_epoch=1)
    assert [epoch.pass_epoch for epoch in plan[1:]] == [1, 1, 3, 3, 5]


@pytest.mark.parametrize(
    ("batch", "share", "tag_only", "masked"),
    [(4, 0.5, True, 2), (4, 0.5, False, 4), (4, 0.01, True, 1), (4, 1.0, True, 4), (1, 0.5, True, 1)],
)
def test_a_source_batch_always_has_a_mask(batch: int, share: float, tag_only: bool, masked: int) -> None:
    assert masked_share(batch, share, tag_only) == masked


def test_workers_are_as_asked_or_what_the_cores_spare() -> None:
    assert worker_count(3, 1) == 3
    assert 0 <= worker_count(None, 1) <= 8
    assert worker_count(None, 1000) == 0


def test_clipping_keeps_the_direction() -> None:
    weight = nn.Parameter(torch.tensor([3.0, 4.0]))
    weight.grad = torch.tensor([3.0, 4.0])
    assert float(clipped_norm([weight], 1.0)) == pytest.approx(5)
    assert weight.grad.tolist() == pytest.approx([0.6, 0.8], abs=1e-5)
    weight.grad = torch.tensor([3.0, 4.0])
    assert float(clipped_norm([weight], None)) == pytest.approx(5)
    assert weight.grad.tolist() == [3.0, 4.0]


def store_pass(store: MapStore, number: int, values: np.ndarray) -> None:
    store.open_pass(number)
    store.store(["a/1"], torch.from_numpy(values)[None])
    store.flush()
    store.close_pass(number)


def test_maps_come_back_as_they_were_and_old_passes_go(tmp_path: Path) -> None:
    store = MapStore(tmp_path / "maps")
    values = np.random.default_rng(0).integers(0, 256, (5, 7), dtype=np.uint8)
    for number in range(5):
        store_pass(store, number, values)
    assert (store.read(4, "a/1") == values).all()
    store.forget_before(3)
    assert sorted(folder.name for folder in (tmp_path / "maps").iterdir()) == ["epoch-0003", "epoch-0004"]


def test_an_unfinished_pass_cannot_be_read(tmp_path: Path) -> None:
    store = MapStore(tmp_path / "maps")
    store.open_pass(0)
    store.store(["a/1"], torch.zeros(1, 4, 4, dtype=torch.uint8))
    store.flush()
    with pytest.raises(CheckpointError, match=r"cannot read .*index"):
        store.read(0, "a/1")


def test_a_map_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    store = MapStore(tmp_path / "maps")
    store.open_pass(0)
    (tmp_path / "maps" / ".epoch-0000.part" / "a").write_text("a file where a folder should be")
    store.store(["a/1"], torch.zeros(1, 4, 4, dtype=torch.uint8))
    with pytest.raises(CheckpointError, match="cannot write maps"):
        store.flush()


def test_without_a_terminal_an_epoch_is_a_line_with_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    progress = TrainingProgress(Console(width=200), shown=True)
    with progress.over(0, 10):
        progress.on_epoch_end(TrainingEvent(5, 10, 0, "warm-up", loss=0.5))
    assert "epoch 1 (warm-up): step 5 of 10, loss 0.500, 0:00:00 left" in capsys.readouterr().out
