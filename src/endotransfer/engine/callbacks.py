"""Callbacks: code of the caller that is told of every step, target pass, checkpoint and epoch of a run."""

from collections.abc import Callable, Iterable, Mapping
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


class StopTraining(Exception):  # noqa: N818  (a request, not an error)
    """Raised by a callback: training saves a checkpoint after the current step and leaves, as on SIGTERM."""


class Callback:
    """Override what you need.  Called in the first process only; raise `StopTraining` to leave early.

    Any other exception ends the run at once, with a note that names the callback; its checkpoints stay.
    """

    def on_train_start(self, event: TrainingEvent) -> None:
        """Before the first step of this run, or of what is left of it where it was resumed."""

    def on_step(self, event: TrainingEvent) -> None:
        """After every update of the weights."""

    def on_target_pass(self, event: TrainingEvent) -> None:
        """After the method has visited the whole target set."""

    def on_checkpoint(self, event: TrainingEvent) -> None:
        """After a checkpoint is on disk."""

    def on_epoch_end(self, event: TrainingEvent) -> None:
        """After the last step of an epoch."""

    def on_train_end(self, event: TrainingEvent) -> None:
        """When training leaves: finished, stopped or failed."""


class CallbackList(Callback):
    """Tells each of several callbacks in turn; `stop` is called where one of them asks training to stop."""

    def __init__(self, callbacks: Iterable[Callback], stop: Callable[[], None]) -> None:
        self._callbacks = tuple(callbacks)
        self._stop = stop

    def on_train_start(self, event: TrainingEvent) -> None:
        self._tell("on_train_start", event)

    def on_step(self, event: TrainingEvent) -> None:
        self._tell("on_step", event)

    def on_target_pass(self, event: TrainingEvent) -> None:
        self._tell("on_target_pass", event)

    def on_checkpoint(self, event: TrainingEvent) -> None:
        self._tell("on_checkpoint", event)

    def on_epoch_end(self, event: TrainingEvent) -> None:
        self._tell("on_epoch_end", event)

    def on_train_end(self, event: TrainingEvent) -> None:
        self._tell("on_train_end", event)

    def _tell(self, moment: str, event: TrainingEvent) -> None:
        for callback in self._callbacks:
            try:
                getattr(callback, moment)(event)
            except StopTraining:
                self._stop()
            except Exception as error:
                error.add_note(f"raised by the callback {type(callback).__qualname__} in {moment} at step {event.step}")
                raise
