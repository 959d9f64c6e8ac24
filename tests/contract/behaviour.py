"""What the behaviour tests share: one batch of a tiny task, a fresh method, and the engine's phases in miniature."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.training_data import load_training_data
from endotransfer.methods.base import METHODS, Memo, Method
from endotransfer.methods.task import TaskInfo


@dataclass
class FullBatch(Batch):
    """A batch with images of both domains."""

    source: SourceBatch
    target: TargetBatch


Rows = dict[str, list[tuple[int, float]]]  # of metrics.csv: name -> (epoch, value) in order


def rows_by_name(run: Path) -> Rows:
    figures: Rows = {}
    with (run / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            figures.setdefault(row["name"], []).append((int(row["epoch"]), float(row["value"])))
    return figures


def one_batch(make_experiment: Any, name: str, task: str = "tagged") -> FullBatch:
    """The first batch that method `name` would train on."""
    experiment = make_experiment(task, name)
    needs = METHODS.get(name).needs
    experiment_data = load_data(experiment.data, needs)
    training_data = load_training_data(experiment, experiment_data, needs, lambda *_: None, console=Console(quiet=True))
    (only,) = training_data.batch_source.batches(0, 1, pass_epoch=None)
    batch = to_device(only, torch.device("cpu"), torch.float32)
    assert batch.source is not None and batch.target is not None
    return FullBatch(batch.source, batch.target, batch.reviewed)


def build(make_experiment: Any, name: str, task: str = "tagged", epochs: int = 1, **settings: Any) -> Method:
    """A fresh method without dropout: the same weights for the same settings."""
    torch.manual_seed(0)
    cls = METHODS.get(name)
    model = make_experiment(task, name).model.model_copy(update={"dropout": 0.0})
    return cls(TaskInfo(2 if task == "tagged" else 5, task == "tagged", model, epochs), cls.Config(**settings))


def zero_last_layer(critic: nn.Module) -> None:
    """A critic that gives every input a score of 0."""
    layers = critic.layers
    assert isinstance(layers, nn.Sequential)
    for parameter in layers[-1].parameters():
        nn.init.zeros_(parameter)


def own_parameters(method: Method, phase: str) -> list[nn.Parameter]:
    return [parameter for name in method.phases[phase] for parameter in method.get_submodule(name).parameters()]


def update(method: Method, phase: str, optimiser: Optimizer, batch: Batch, memo: Memo) -> None:
    """The engine's phase in miniature: only the phase's own weights get a gradient."""
    for other in method.phases:
        for parameter in own_parameters(method, other):
            parameter.requires_grad = other == phase
    optimiser.zero_grad()
    torch.autograd.backward(torch.stack(list(method.losses(phase, batch, memo).values())).sum())
    optimiser.step()


def train(method: Method, batch: Batch, steps: int, *phases: str, lr: float = 1e-3) -> None:
    """Steps of `phases` in turn.  Without the first phase among them what it puts into the memo is made once."""
    optimisers = {phase: method.optimiser(phase) or Adam(own_parameters(method, phase), lr=lr) for phase in phases}
    memo: Memo = {}
    first = next(iter(method.phases))
    if first not in phases:
        with torch.no_grad():
            method.losses(first, batch, memo)
    for _ in range(steps):
        for phase in phases:
            update(method, phase, optimisers[phase], batch, memo)
