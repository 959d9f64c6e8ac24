"""Callbacks: code of the caller that is told of every step, target pass, checkpoint and epoch of a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TrainingEvent:
    """Where a run stands and what has just been measured."""

    step: int  # steps taken so far
    steps: int  # of the whole run
    epoch: int  # from 0
    stage: str
    figures: Mapping[str, float] = field(default_factory=dict)  # as in metrics.csv: loss/net, term/..., pass/...
    loss: float | None = None  # of the first phase that the epoch trains


class Callback:
    """Override what you need.  Called in the first process only.  An exception ends the run; its checkpoints stay."""

    def on_step(self, event: TrainingEvent) -> None:
        """After every update of the weights."""

    def on_target_pass(self, event: TrainingEvent) -> None:
        """After the method has visited the whole target set."""

    def on_checkpoint(self, event: TrainingEvent) -> None:
        """After a checkpoint is on disk."""

    def on_epoch(self, event: TrainingEvent) -> None:
        """After the last step of an epoch."""


class CallbackList(Callback):
    """Tells each of several callbacks in turn."""

    def __init__(self, callbacks: Iterable[Callback]) -> None:
        self._callbacks = tuple(callbacks)

    def on_step(self, event: TrainingEvent) -> None:
        for callback in self._callbacks:
            callback.on_step(event)

    def on_target_pass(self, event: TrainingEvent) -> None:
        for callback in self._callbacks:
            callback.on_target_pass(event)

    def on_checkpoint(self, event: TrainingEvent) -> None:
        for callback in self._callbacks:
            callback.on_checkpoint(event)

    def on_epoch(self, event: TrainingEvent) -> None:
        for callback in self._callbacks:
            callback.on_epoch(event)
