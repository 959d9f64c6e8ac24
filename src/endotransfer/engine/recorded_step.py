"""A whole training step as one CUDA graph: every phase with its losses, gradients and optimiser.

A step is several hundred kernels, and on a fast GPU the host takes longer to launch them than they take to run.  A
method says that its steps may be recorded (`records_steps`); all that differs from one to the next then lies in
tensors: the batch, the learning rates, the weights.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import fields
from typing import TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.engine.phase_update import PhaseUpdate
from endotransfer.methods.base import Memo

Part = TypeVar("Part", bound=Batch | SourceBatch | TargetBatch)


class RecordedStep:  # pragma: needs cuda
    """The step that `phases` make of a batch like `batch`.  `memo` holds what the last replay left behind."""

    def __init__(self, update: PhaseUpdate, phases: Sequence[str], batch: Batch) -> None:
        self.update, self.phases = update, tuple(phases)
        self.batch = cloned(batch)
        self.memo: Memo = {}
        self.rates = {phase: _Rates(update.optimisers[phase]) for phase in phases}
        self.found: dict[str, tuple[tuple[str, ...], Tensor]] = {}
        self.graph = torch.cuda.CUDAGraph()
        for phase in phases:
            update.optimisers[phase].zero_grad(set_to_none=True)  # gradients are to lie in the graph's own memory
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            for phase in phases:
                terms, values = update.gradients(phase, [self.batch], [self.memo])
                with self.rates[phase]:
                    update.follow(phase, values)
                self.found[phase] = terms, values

    def fits(self, phases: Sequence[str], batch: Batch) -> bool:
        return self.phases == tuple(phases) and _shapes(self.batch) == _shapes(batch)

    def replay(self, batch: Batch, lr_factors: Sequence[float]) -> None:
        for mine, given in zip(tensors_of(self.batch), tensors_of(batch), strict=True):
            mine.copy_(given)
        for phase, factor in zip(self.phases, lr_factors, strict=True):
            self.rates[phase].set(factor)
        self.graph.replay()


class _Rates:  # pragma: needs cuda
    """An optimiser's learning rates as tensors, which a recorded step reads; the optimiser itself keeps numbers."""

    def __init__(self, optimiser: Optimizer) -> None:
        self.groups = optimiser.param_groups
        device = self.groups[0]["params"][0].device
        self.tensors = [torch.tensor(float(group["initial_lr"]), device=device) for group in self.groups]

    def set(self, factor: float) -> None:
        for tensor, group in zip(self.tensors, self.groups, strict=True):
            group["lr"] = group["initial_lr"] * factor
            tensor.fill_(group["lr"])

    def __enter__(self) -> None:
        self._before = [(group["lr"], group["capturable"]) for group in self.groups]
        for group, tensor in zip(self.groups, self.tensors, strict=True):
            group["lr"], group["capturable"] = tensor, True

    def __exit__(self, *_: object) -> None:
        for group, (rate, capturable) in zip(self.groups, self._before, strict=True):
            group["lr"], group["capturable"] = rate, capturable


def can_be_recorded(optimisers: Sequence[Optimizer]) -> bool:
    """Whether they take their steps on the GPU, with rates that may lie there."""
    return all(group.get("fused") and "capturable" in group for one in optimisers for group in one.param_groups)


def cloned(part: Part) -> Part:
    """The same batch in memory of its own."""
    copied = copy(part)
    for name, value in _values(part):
        if isinstance(value, Tensor):
            setattr(copied, name, value.clone())
        elif isinstance(value, SourceBatch | TargetBatch):
            setattr(copied, name, cloned(value))
    return copied


def tensors_of(part: Batch | SourceBatch | TargetBatch) -> list[Tensor]:
    """All tensors of a batch, in one order."""
    found: list[Tensor] = []
    for _, value in _values(part):
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, SourceBatch | TargetBatch):
            found += tensors_of(value)
    return found


def _shapes(part: Batch | SourceBatch | TargetBatch) -> list[object]:
    """What two batches share for which one step may be recorded: what there is, and how large."""
    return [
        value.shape if isinstance(value, Tensor) else _shapes(value)
        for _, value in _values(part)
        if isinstance(value, Tensor | SourceBatch | TargetBatch)
    ] + [name for name, value in _values(part) if value is None]


def _values(part: Batch | SourceBatch | TargetBatch) -> list[tuple[str, object]]:
    return [(field.name, getattr(part, field.name)) for field in fields(part)]
