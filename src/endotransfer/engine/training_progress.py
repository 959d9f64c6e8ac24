"""How far training is: a bar on a terminal, one line an epoch elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console

from endotransfer.engine.callbacks import Callback, TrainingEvent
from endotransfer.engine.progress_bar import progress_bar


class TrainingProgress(Callback):
    """Shows every step on a bar; where output goes to a file, every epoch as a line with the time left."""

    def __init__(self, console: Console, *, shown: bool) -> None:
        self._bar = progress_bar(console, shown=shown)
        self._task = self._bar.add_task("training", total=None, note="")
        self._lines = console if shown and not console.is_terminal else None
        self._first, self._began = 0, time.perf_counter()

    @contextmanager
    def over(self, first: int, steps: int) -> Iterator[None]:
        """While training goes from step `first` to `steps`."""
        self._first, self._began = first, time.perf_counter()
        self._bar.reset(self._task, total=steps, completed=first)
        with self._bar:
            yield

    def on_step(self, event: TrainingEvent) -> None:
        self._bar.update(self._task, completed=event.step, description=event.stage, note=_note(event))

    def on_epoch_end(self, event: TrainingEvent) -> None:
        if self._lines is None:
            return
        rate = (time.perf_counter() - self._began) / max(1, event.step - self._first)
        left = timedelta(seconds=round(rate * (event.steps - event.step)))
        self._lines.print(
            f"epoch {event.epoch + 1} ({event.stage}): step {event.step} of {event.steps}, {_note(event)}, {left} left",
            markup=False,
        )


def _note(event: TrainingEvent) -> str:
    return "" if event.loss is None else f"loss {event.loss:.3f}"
