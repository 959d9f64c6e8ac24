"""TensorBoard's event files, also of a run that was resumed."""

from pathlib import Path
from typing import Protocol


class EventWriter(Protocol):
    """What is used of TensorBoard's `SummaryWriter`, whose methods have no types."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...
    def close(self) -> None: ...


class EventFiles:
    """A new file for every start of the run, opened with its first figure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: EventWriter | None = None
        self._purge_step: int | None = None
        self._again: dict[str, float] = {}

    def rewind(self, step: int, last: dict[str, float]) -> None:
        """Hide what earlier files hold from `step` on, and write `last`, the figures of `step` itself, again.

        TensorBoard can only drop a whole step, but a target pass logs after the checkpoint of its step was saved.
        """
        self._purge_step, self._again = step, last

    def write(self, step: int, figures: dict[str, float]) -> None:
        if self._writer is None:
            self._writer = self._open()
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _open(self) -> EventWriter:
        from torch.utils.tensorboard import SummaryWriter

        writer: EventWriter = SummaryWriter(str(self._folder), purge_step=self._purge_step)
        for name, value in self._again.items():
            writer.add_scalar(name, value, self._purge_step or 0)
        return writer
