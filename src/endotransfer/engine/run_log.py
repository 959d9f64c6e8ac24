"""The figures of a run as they come: `metrics.csv` (one value a row) and, if asked, TensorBoard and trackers."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from endotransfer.engine.event_files import EventFiles
from endotransfer.engine.trackers import Ending, Trackers
from endotransfer.errors import CheckpointError
from endotransfer.io import LARGEST_TABLE, read_bounded, write_atomically

AWAY = "move it away"
COLUMNS = ("step", "epoch", "stage", "name", "value")


class RunLog:
    """Appends figures.  Only the first process writes; the others hold a silent one (`folder` None)."""

    def __init__(self, folder: Path | None, *, tensorboard: bool = True, trackers: Trackers | None = None) -> None:
        self._path = folder / "metrics.csv" if folder else None
        self._events = EventFiles(folder / "tensorboard") if folder and tensorboard else None
        self._trackers = trackers if folder else None
        if self._path and not self._path.exists():
            self._path.write_text(",".join(COLUMNS) + "\n")

    def rewind(self, step: int) -> None:
        """Forget figures of later steps than the checkpoint that a resumed run starts from."""
        if not self._path:
            return
        text = read_bounded(self._path, CheckpointError, AWAY, LARGEST_TABLE).decode(errors="replace")
        header, *rows = text.splitlines(keepends=True) or [",".join(COLUMNS) + "\n"]
        before = [row for row in rows if row.endswith("\n") and _written_before(step, row.split(","))]
        write_atomically(self._path, "".join([header, *before]), CheckpointError)
        if self._events is not None:
            last = [row for row in map(_log_row, csv.reader(before)) if row is not None and row.step == step]
            self._events.rewind(step, {row.name: row.value for row in last})

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
        if self._events is not None:
            self._events.write(step, figures)
        if self._trackers is not None:
            self._trackers.write(step, figures)

    def write_results(self, step: int, figures: dict[str, float]) -> None:
        """For trackers alone, which compare runs by their last figures; results.json has them all."""
        if self._trackers is not None:
            self._trackers.write(step, {f"results/{name}": value for name, value in figures.items()})

    def close(self, ending: Ending = "finished") -> None:
        if self._events is not None:
            self._events.close()
        if self._trackers is not None:
            self._trackers.close(ending)


@dataclass(frozen=True)
class LogRow:
    """One figure of metrics.csv; `cells` is the row as it was written."""

    step: int
    epoch: int
    stage: str
    name: str
    value: float
    cells: list[str]


def read_log(run: Path) -> list[LogRow]:
    """The figures that the run in folder `run` has logged; empty where there is no table that can be read."""
    try:
        text = read_bounded(run / "metrics.csv", CheckpointError, AWAY, LARGEST_TABLE).decode("utf-8")
        header, *rows = csv.reader(io.StringIO(text, newline=""))
    except (CheckpointError, OSError, ValueError, csv.Error):
        return []
    return [found for row in rows if (found := _log_row(row))] if tuple(header) == COLUMNS else []


def _log_row(row: list[str]) -> LogRow | None:
    """None for a line that was cut off."""
    try:
        return LogRow(int(row[0]), int(row[1]), row[2], row[3], float(row[4]), row)
    except (ValueError, IndexError):
        return None


def _written_before(step: int, row: list[str]) -> bool:
    """Whether a row was written before the checkpoint of `step` was: a pass at that step comes after it."""
    if len(row) != len(COLUMNS) or not row[0].isascii() or not row[0].isdigit() or len(row[0]) > 18:
        return False
    return int(row[0]) < step or (int(row[0]) == step and not row[3].startswith("pass/"))
