"""What a run tells while it runs: `metrics.csv` (one value a row), TensorBoard, and a bar with the time left."""

import csv
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from endotransfer.errors import CheckpointError
from endotransfer.io import write_atomically

COLUMNS = ("step", "epoch", "stage", "name", "value")


class RunLog:
    """Appends figures as they come.  Only the first process writes; the others hold a silent one (`folder` None)."""

    def __init__(self, folder: Path | None, *, tensorboard: bool = True) -> None:
        self._path = folder / "metrics.csv" if folder else None
        self._board: Any = None
        if folder and tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(folder / "tensorboard"))
        if self._path and not self._path.exists():
            self._path.write_text(",".join(COLUMNS) + "\n")

    def rewind(self, step: int) -> None:
        """Forget rows of later steps than the checkpoint that a resumed run starts from."""
        if not self._path:
            return
        header, *rows = self._path.read_text().splitlines(keepends=True)
        kept = [row for row in rows if row.endswith("\n") and _written_by(step, row.split(","))]
        write_atomically(self._path, "".join([header, *kept]), CheckpointError)

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
            for name, value in figures.items():
                self._board.add_scalar(name, value, step)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()


def _written_by(step: int, row: list[str]) -> bool:
    """Whether a row was written before the checkpoint of `step` was: a pass at that step comes after it."""
    return row[0].isdigit() and (int(row[0]) < step or (int(row[0]) == step and not row[3].startswith("pass/")))


def progress_bar(console: Console, *, shown: bool) -> Progress:
    """A bar: what is going on, how far, how long it took and how long it will take.  Only where a person looks on."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=not (shown and console.is_terminal),
        transient=True,
    )


class EpochLines:
    """Where output goes to a file instead of a terminal: one line an epoch, with the time left."""

    def __init__(self, console: Console, done: int, total: int, *, shown: bool) -> None:
        self._console = console if shown and not console.is_terminal else None
        self._first, self._total, self._began = done, total, time.perf_counter()

    def write(self, done: int, epoch: int, stage: str, note: str) -> None:
        if self._console is None:
            return
        rate = (time.perf_counter() - self._began) / max(1, done - self._first)
        left = timedelta(seconds=round(rate * (self._total - done)))
        self._console.print(
            f"epoch {epoch + 1} ({stage}): step {done} of {self._total}, {note}, {left} left", markup=False
        )
