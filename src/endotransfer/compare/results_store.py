"""results.json of a benchmark: what is finished, kept whole through kills, moves and damage."""

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from endotransfer import __version__
from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults
from endotransfer.compare.cells import Cell, digest_of
from endotransfer.compare.drawn_figures import DrawnFigures, draw_figures
from endotransfer.compare.image_counts import counts_of_run, read_counts
from endotransfer.compare.seed_summary import summarise_seeds
from endotransfer.compare.suite import Suite
from endotransfer.compare.suite_description import description
from endotransfer.compare.sweep_matrix import Grid, matrix_of
from endotransfer.compare.task_settings import task_settings
from endotransfer.config import read_experiment
from endotransfer.data.phantom.draw_once import drawn_with
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, ConfigError, DataError
from endotransfer.io import read_json_object
from endotransfer.results import Results

FILE = "results.json"
Say = Callable[[str], None]


class ResultsStore:
    """The cells of a benchmark in `out`, finished and failed, by label and seed.

    A finished cell is known from results.json alone, which can be carried to another machine, or from its run folder.
    Cells of rows and seeds that are not asked for today stay where they are.  `grid`: that of a sweep.
    """

    def __init__(self, out: Path, suite: Suite, command: str = "", say: Say = print, grid: Grid | None = None) -> None:
        self.out, self.suite, self.command, self.grid, self._say = out, suite, command, grid, say
        self._cells: dict[tuple[str, int], BenchmarkCell] = {cell.key: cell for cell in self._read()}
        self._drawn: dict[str, DrawnFigures | None] = {}  # by run; results are written after every cell

    def run_folder(self, cell: Cell) -> RunFolder:
        return RunFolder(self.out / "runs" / cell.run)

    # -- what is finished ---------------------------------------------------------------------------------------

    def finished(self, cell: Cell) -> bool:
        held = self._cells.get(cell.key)
        return held is not None and held.error is None and held.digest == cell.digest

    def take_up(self, cells: Sequence[Cell], *, force: bool) -> list[Cell]:
        """Those of `cells` that are not finished.  What was trained with other settings is refused, or left to be
        replaced (`force`)."""
        for cell in cells:
            self._refuse_changed(cell, force=force)
        for cell in cells:
            if not self.finished(cell) and not self.share(cell):
                self._recover(cell)
            elif (
                held := self._cells[cell.key]
            ).settings is None:  # of an older version; the digest says they are these
                self._cells[cell.key] = held.model_copy(update={"settings": task_settings(cell.experiment)})
        return [cell for cell in cells if not self.finished(cell)]

    def _refuse_changed(self, cell: Cell, *, force: bool) -> None:
        held, run = self._cells.get(cell.key), self.run_folder(cell)
        before = held.digest if held else self._digest_of_run(run)
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
            if held.digest == cell.digest and held.error is None:
                self._cells[cell.key] = cell.finished(held.results, run=held.run, seconds=held.wall_seconds)
                return True
        return False

    def _recover(self, cell: Cell) -> None:
        """A finished run folder that results.json does not know of."""
        run = self.run_folder(cell)
        results = Results.read_if_whole(run.results)
        if results is not None and "miou" in results.figures and self._digest_of_run(run) == cell.digest:
            self.record(cell, results)

    def _digest_of_run(self, run: RunFolder) -> str | None:
        """Of a run that was begun here, on the phantom as it was drawn then."""
        drawing = self.suite.drawing and (drawn_with(self.out / "phantom") or self.suite.drawing)
        try:
            return digest_of(read_experiment(run.config), drawing)
        except ConfigError:  # no run, or none that can be read
            return None

    # -- what comes in ------------------------------------------------------------------------------------------

    def record(self, cell: Cell, results: Results, seconds: float | None = None) -> None:
        """A cell was trained and measured."""
        try:
            counts_of_run(self.run_folder(cell).path).write(self._scores(cell.run))
        except DataError as reason:  # then the summary has no interval for it, and says so
            self._say(f"warning: {reason}")
        self._drawn.pop(cell.run, None)
        self._cells[cell.key] = cell.finished(results, seconds=seconds)

    def fail(self, cell: Cell, sentence: str) -> None:
        self._cells[cell.key] = cell.failed(sentence)

    # -- what goes out ------------------------------------------------------------------------------------------

    def results(self) -> BenchmarkResults:
        order = {row.label: place for place, row in enumerate(self.suite.rows)}
        cells = sorted(self._cells.values(), key=lambda cell: (order.get(cell.label, len(order)), cell.seed))
        done = [cell for cell in cells if cell.error is None]
        matrix = (
            {} if self.grid is None else {"matrix": matrix_of(self.grid, [(cell.grid, cell.results) for cell in done])}
        )
        return BenchmarkResults(
            suite=description(self.suite),
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            version=__version__,
            command=self.command,
            **matrix,
            summary=summarise_seeds(list(order), done, self.suite.reference_label, self._figures_drawn),
            cells=cells,
        )

    def write(self) -> BenchmarkResults:
        results = self.results()
        results.write(self.out / FILE)
        return results

    def seconds(self) -> list[tuple[str, float]]:
        """(method, seconds) of the cells whose whole time is known."""
        return [(cell.results.method, cell.wall_seconds) for cell in self._cells.values() if cell.wall_seconds]

    @property
    def _resamples(self) -> int:
        return int(self.suite.evaluation.get("resamples") or 1000)

    def _figures_drawn(self, cell: BenchmarkCell) -> DrawnFigures | None:
        if cell.run not in self._drawn:
            counts = read_counts(self._scores(cell.run))
            self._drawn[cell.run] = None if counts is None else draw_figures(counts, self._resamples)
        return self._drawn[cell.run]

    def _scores(self, run: str) -> Path:
        return self.out / "scores" / f"{run}.json"

    def _read(self) -> list[BenchmarkCell]:
        path = self.out / FILE
        if not path.exists():
            return []
        try:
            listed = read_json_object(path, CheckpointError).get("cells")
        except CheckpointError:
            listed = None
        if not isinstance(listed, list):
            aside = path.with_name(f"{FILE}.damaged")
            path.replace(aside)
            self._say(f"warning: {path} is damaged; it is now {aside.name}, and cells are looked for in runs/")
            return []
        whole = [cell for entry in listed if (cell := _whole_cell(entry)) is not None]
        if len(whole) < len(listed):
            self._say(f"warning: {len(listed) - len(whole)} cells of {path} are damaged and left out")
        return whole


def _whole_cell(entry: object) -> BenchmarkCell | None:
    """An entry of results.json, if it can be used."""
    try:
        cell = BenchmarkCell.model_validate(entry)
    except ValidationError:
        return None
    return cell if cell.is_whole else None
