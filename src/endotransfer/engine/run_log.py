"""The figures of a run as they come: `metrics.csv` (one value a row) and TensorBoard, which show the same."""

import csv
from pathlib import Path
from typing import Protocol

from endotransfer.errors import CheckpointError
from endotransfer.io import write_atomically

COLUMNS = ("step", "epoch", "stage", "name", "value")


class RunLog:
    """Appends figures.  Only the first process writes; the others hold a silent one (`folder` None)."""

    def __init__(self, folder: Path | None, *, tensorboard: bool = True) -> None:
        self._path = folder / "metrics.csv" if folder else None
        self._board = Board(folder / "tensorboard") if folder and tensorboard else None
        if self._path and not self._path.exists():
            self._path.write_text(",".join(COLUMNS) + "\n")

    def rewind(self, step: int) -> None:
        """Forget figures of later steps than the checkpoint that a resumed run starts from."""
        if not self._path:
            return
        header, *rows = self._path.read_text().splitlines(keepends=True)
        before = [row for row in rows if row.endswith("\n") and _written_before(step, row.split(","))]
        write_atomically(self._path, "".join([header, *before]), CheckpointError)
        if self._board is not None:
            last = [row for row in csv.reader(before) if int(row[0]) == step]
            self._board.rewind(step, {name: float(value) for _, _, _, name, value in last})

    def write(self, step: int, epoch: int, stage: str, figures: dict[str, float]) -> None:
        if not self._path:
            return
        try:
            with self._path.open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows((step, epoch, stage, name, f"{value:.8g}") for name, value in figures.items())
        except OSError as reason:
            raise CheckpointError(
                f"cannot write {self._path}: {reason.strerror}; free some space and start again with --resume."
            ) from reason
        if self._board is not None:
            self._board.write(step, figures)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


class _Writer(Protocol):
    """What is used of TensorBoard's `SummaryWriter`, whose methods have no types."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...
    def close(self) -> None: ...


class Board:
    """TensorBoard's event files; a new one for every start of the run, opened with its first figure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: _Writer | None = None
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

    def _open(self) -> _Writer:
        from torch.utils.tensorboard import SummaryWriter

        writer: _Writer = SummaryWriter(str(self._folder), purge_step=self._purge_step)
        for name, value in self._again.items():
            writer.add_scalar(name, value, self._purge_step or 0)
        return writer


def _written_before(step: int, row: list[str]) -> bool:
    """Whether a row was written before the checkpoint of `step` was: a pass at that step comes after it."""
    return row[0].isdigit() and (int(row[0]) < step or (int(row[0]) == step and not row[3].startswith("pass/")))
