"""A recorded step trains as a plain one does, and only methods that say so have their steps recorded."""

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.engine.recorded_step import RecordedStep, can_be_recorded, cloned, tensors_of
from endotransfer.engine.run import train
from endotransfer.engine.trainer import Trainer
from endotransfer.engine.whole_steps import WholeSteps
from endotransfer.methods.base import METHODS
from endotransfer.methods.task import Stage
from endotransfer.testing.two_processes import without_dropout
from tests.engine.test_graphs import stop_at

RECORDED = sorted(name for name, cls in METHODS.items() if vars(cls).get("records_steps"))
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def batch() -> Batch:
    images = torch.rand(4, 3, 8, 8)
    source = SourceBatch(images[:2], torch.zeros(2, 8, 8, dtype=torch.long), torch.tensor([0, 1]), ["a", "b"])
    return Batch(source, TargetBatch(images[2:], torch.tensor([1, 0]), keys=["c", "d"]))


def test_a_copy_of_a_batch_has_tensors_of_its_own_in_the_same_order() -> None:
    one = batch()
    other = cloned(one)
    assert [tuple(tensor.shape) for tensor in tensors_of(one)] == [(2, 3, 8, 8), (2, 8, 8), (2,), (2, 3, 8, 8), (2,)]
    for mine, theirs in zip(tensors_of(one), tensors_of(other), strict=True):
        assert torch.equal(mine, theirs) and mine.data_ptr() != theirs.data_ptr()


def test_optimisers_that_step_on_the_host_are_not_recorded() -> None:
    weights = [nn.Parameter(torch.ones(2))]
    assert can_be_recorded([Adam(weights, fused=True)])
    assert not can_be_recorded([Adam(weights, fused=True), Adam(weights)])
    assert not can_be_recorded([SGD(weights, lr=0.1, fused=True)])


def losses_of(run: Path) -> list[float]:
    with (run / "metrics.csv").open() as file:
        return [float(row["value"]) for row in csv.DictReader(file) if row["name"] == "loss/net"]


@needs_cuda
@pytest.mark.parametrize("method", RECORDED)
def test_recorded_steps_train_as_plain_ones(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    torch.backends.cudnn.allow_tf32 = False
    replays, replay = list[int](), RecordedStep.replay

    def counted(self: RecordedStep, *given: Any) -> None:
        replays.append(1)
        replay(self, *given)

    monkeypatch.setattr(RecordedStep, "replay", counted)
    losses = []
    for graphs in (True, False):
        settings = {"accelerator": "cuda", "epochs": 4, "steps_per_epoch": 6, "workers": 0, "log_every": 1}
        experiment = make_experiment("tagged", method, optimiser="adamw", graphs=graphs, **settings)
        assert train(without_dropout(experiment), tmp_path / str(graphs)) is not None
        losses.append(losses_of(tmp_path / str(graphs)))
        assert bool(replays) == graphs
        replays.clear()
    # Sums on a GPU differ in their last bits, and Adam follows the sign of the smallest gradient.
    assert len(losses[0]) == 24
    assert losses[0][:10] == pytest.approx(losses[1][:10], rel=2e-3)
    assert losses[0] == pytest.approx(losses[1], rel=3e-2)


@needs_cuda
@pytest.mark.parametrize("method", [*RECORDED, "wild"])
def test_a_stopped_run_goes_on_with_graphs_and_channels_last_weights(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Fused AdamW refuses moments whose strides are not those of their weights."""
    settings = {"accelerator": "cuda", "epochs": 4, "steps_per_epoch": 6, "workers": 0, "log_every": 1}
    experiment = without_dropout(make_experiment("tagged", method, optimiser="adamw", precision="bf16", **settings))
    assert train(experiment, tmp_path / "straight") is not None
    with monkeypatch.context() as leaving:
        leaving.setattr(Trainer, "_save_if_due", stop_at(9, Trainer._save_if_due))
        assert train(experiment, tmp_path / "stopped") is None
    assert train(experiment, tmp_path / "stopped", resume=True) is not None
    straight, stopped = losses_of(tmp_path / "straight"), losses_of(tmp_path / "stopped")
    assert len(stopped) == len(straight) == 24
    assert stopped[9:12] == pytest.approx(straight[9:12], rel=5e-2)  # bf16, and sums that differ in their last bits


def test_a_stage_that_draws_on_the_host_is_not_recorded() -> None:
    steps = WholeSteps.__new__(WholeSteps)  # its graphs need a GPU
    steps.allowed, steps.seen, steps.stage, steps.recorded = True, None, "", None
    assert steps.record(Stage("transfer", 1))
    assert steps.replay(("net",), [batch()], [{}], 1.0, 0) is None and steps.seen is not None
    assert not steps.record(Stage("mixtures", 1, recordable=False))
    assert steps.replay(("net",), [batch()], [{}], 1.0, 0) is None and steps.seen is None
