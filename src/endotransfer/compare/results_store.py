"""results.json of a benchmark: what is finished, kept whole through kills, moves and damage."""

import datetime
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from endotransfer import __version__
from endotransfer.compare.cells import Cell, Figures, digest_of
from endotransfer.compare.image_counts import ImageCounts, counts_of_run, read_counts
from endotransfer.compare.seed_summary import summarise
from endotransfer.compare.suite import Suite
from endotransfer.config import read_experiment
from endotransfer.data.phantom.draw_once import drawn_with
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, ConfigError, DataError
from endotransfer.io import write_atomically

FILE = "results.json"
Say = Callable[[str], None]


class ResultsStore:
    """The cells of a benchmark in `out`, finished and failed, by label and seed.

    A finished cell is known from results.json alone, which can be carried to another machine, or from its run folder.
    Cells of rows and seeds that are not asked for today stay where they are.
    """

    def __init__(self, out: Path, suite: Suite, command: str = "", say: Say = print) -> None:
        self.out, self.suite, self.command, self._say = out, suite, command, say
        self.extra: dict[str, Callable[[Sequence[Figures]], Any]] = {}  # further keys: made from the finished cells
        self._cells: dict[tuple[str, int], Figures] = {}
        for cell in self._read():
            self._cells[cell["label"], cell["seed"]] = cell

    def run_folder(self, cell: Cell) -> RunFolder:
        return RunFolder(self.out / "runs" / cell.run)

    # -- what is finished ---------------------------------------------------------------------------------------

    def finished(self, cell: Cell) -> bool:
        held = self._cells.get(cell.key)
        return held is not None and "error" not in held and held["digest"] == cell.digest

    def take_up(self, cells: Sequence[Cell], *, force: bool) -> list[Cell]:
        """Those of `cells` that are not finished.  What was trained with other settings is refused, or left to be
        replaced (`force`)."""
        for cell in cells:
            self._refuse_changed(cell, force=force)
        for cell in cells:
            if not self.finished(cell) and not self.share(cell):
                self._recover(cell)
        return [cell for cell in cells if not self.finished(cell)]

    def _refuse_changed(self, cell: Cell, *, force: bool) -> None:
        held, run = self._cells.get(cell.key), self.run_folder(cell)
        before = held["digest"] if held else self._digest_of_run(run)
        if before in (None, cell.digest):
            return
        if not force:
            raise ConfigError(
                f"{self.out} holds '{cell.row.label}' with seed {cell.seed}, trained with other settings than now; "
                "choose another --out, or train it again with --force."
            )
        self._cells.pop(cell.key, None)

    def share(self, cell: Cell) -> bool:
        """Whether the same run stands under another label; then it stands under this one as well."""
        for held in self._cells.values():
            if held["digest"] == cell.digest and "error" not in held:
                figures = {key: value for key, value in held.items() if key not in ("group", "same_as", "grid")}
                self._cells[cell.key] = {**figures, **cell.head, "run": held["run"]}
                return True
        return False

    def _recover(self, cell: Cell) -> None:
        """A finished run folder that results.json does not know of."""
        run = self.run_folder(cell)
        results = _read_json(run.results)
        if not isinstance(results, dict) or not {"method", "miou", "seed"} <= results.keys():
            return
        if self._digest_of_run(run) == cell.digest:
            self.record(cell, results)

    def _digest_of_run(self, run: RunFolder) -> str | None:
        """Of a run that was begun here, on the phantom as it was drawn then."""
        drawing = self.suite.drawing and (drawn_with(self.out / "phantom") or self.suite.drawing)
        try:
            return digest_of(read_experiment(run.config), drawing)
        except ConfigError:  # no run, or none that can be read
            return None

    # -- what comes in ------------------------------------------------------------------------------------------

    def record(self, cell: Cell, results: Figures, seconds: float | None = None) -> None:
        """A cell was trained and measured."""
        try:
            counts_of_run(self.run_folder(cell).path).write(self._scores(cell.run))
        except DataError as reason:  # then the summary has no interval for it, and says so
            self._say(f"warning: {reason}")
        wall = {} if seconds is None else {"wall_seconds": round(seconds, 1)}
        self._cells[cell.key] = {**results, **cell.head, **wall}

    def fail(self, cell: Cell, sentence: str) -> None:
        self._cells[cell.key] = {**cell.head, "error": sentence}

    # -- what goes out ------------------------------------------------------------------------------------------

    def results(self) -> Figures:
        order = {row.label: place for place, row in enumerate(self.suite.rows)}
        cells = sorted(self._cells.values(), key=lambda cell: (order.get(cell["label"], len(order)), cell["seed"]))
        done = [cell for cell in cells if "error" not in cell]
        return {
            "suite": description(self.suite),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "version": __version__,
            "command": self.command,
            **{key: make(done) for key, make in self.extra.items()},
            "summary": summarise(list(order), done, self.suite.reference_label, self._counts, self._resamples),
            "cells": cells,
        }

    def write(self) -> Figures:
        results = self.results()
        write_atomically(self.out / FILE, json.dumps(results, indent=2), CheckpointError)
        return results

    def seconds(self) -> list[tuple[str, float]]:
        """(method, seconds) of the cells whose whole time is known."""
        return [(cell["method"], cell["wall_seconds"]) for cell in self._cells.values() if cell.get("wall_seconds")]

    @property
    def _resamples(self) -> int:
        return int(self.suite.evaluation.get("resamples") or 1000)

    def _counts(self, cell: Figures) -> ImageCounts | None:
        return read_counts(self._scores(cell["run"]))

    def _scores(self, run: str) -> Path:
        return self.out / "scores" / f"{run}.json"

    def _read(self) -> list[Figures]:
        path = self.out / FILE
        if not path.exists():
            return []
        held = _read_json(path)
        if not isinstance(held, dict) or not isinstance(held.get("cells"), list):
            aside = path.with_name(f"{FILE}.damaged")
            path.replace(aside)
            self._say(f"warning: {path} is damaged; it is now {aside.name}, and cells are looked for in runs/")
            return []
        whole = [cell for cell in held["cells"] if _is_cell(cell)]
        if len(whole) < len(held["cells"]):
            self._say(f"warning: {len(held['cells']) - len(whole)} cells of {path} are damaged and left out")
        return whole


def description(suite: Suite) -> Figures:
    """The suite as results.json keeps it: its task and rows, and of folders only their names."""
    experiment = suite.experiment(suite.rows[0], suite.seed, Path("phantom"))
    folders = {
        role: [folder.path.name for folder in getattr(experiment.data, role) or ()]
        for role in ("source", "target", "test")
    }
    return {
        "name": suite.name,
        "table": suite.table,
        "reference": suite.reference_label,
        "systems": [row.label for row in suite.rows],
        "phantom": suite.drawing,
        "data": {**suite.data, **{role: names for role, names in folders.items() if names}},
        "model": {key: Path(value).name if key == "weights" and value else value for key, value in suite.model.items()},
        "training": suite.training,
        "evaluation": suite.evaluation,
    }


def _is_cell(cell: Any) -> bool:
    """Whether an entry of results.json can be used."""
    kinds = {"label": str, "method": str, "seed": int, "digest": str, "run": str}
    if not isinstance(cell, dict) or not all(isinstance(cell.get(key), kind) for key, kind in kinds.items()):
        return False
    return "miou" in cell or "error" in cell


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
