"""Systems times seeds: train what is not finished, keep what is, and write the results after every cell."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console

from endotransfer.compare.benchmark_results import BenchmarkResults
from endotransfer.compare.cells import Cell, plan_cells
from endotransfer.compare.folder_lock import LOCK, alone_in
from endotransfer.compare.pool import run_side_by_side
from endotransfer.compare.progress import CellProgress, seconds_left, shown_progress
from endotransfer.compare.results_store import FILE, ResultsStore
from endotransfer.compare.run_cell import Outcome, Task, run_cell
from endotransfer.compare.suite import Suite
from endotransfer.compare.sweep_matrix import Grid
from endotransfer.data.phantom.draw_once import draw_once, unfinished_phantom
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.engine.experiment_data import load_data
from endotransfer.errors import ConfigError, DataError
from endotransfer.methods import method_config
from endotransfer.registry import nearest

Outcomes = Generator[tuple[int, Outcome], None, None]
Written = Callable[[BenchmarkResults], object]  # what else is made of results.json whenever it was written (tables)


def run_benchmark(
    suite: Suite,
    out: Path,
    *,
    seeds: int | None = None,
    jobs: int = 1,
    only: Sequence[str] = (),
    force: bool = False,
    command: str = "",
    console: Console | None = None,
    written: Written | None = None,
    grid: Grid | None = None,
    minutes: float | None = None,
) -> tuple[BenchmarkResults, list[Cell]]:
    """Train every cell that is not finished; returns what results.json holds, and the cells that have no figures.

    `only`: labels of the rows to train now.  `grid`: of a sweep, whose results have a matrix.  `minutes`: cells that
    will not have ended by then are left for another time.
    """
    console = console or Console()
    ends = None if minutes is None else time.time() + 60 * minutes

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    _refuse_foreign(out)
    cells = plan_cells(suite, suite.seed_list(seeds), out / "phantom")
    if unknown := [label for label in only if label not in {row.label for row in suite.rows}]:
        raise ConfigError(
            f"--only {unknown[0]}: no system is called so; {nearest(unknown[0], [r.label for r in suite.rows])}"
        )
    wanted = [cell for cell in cells if not only or cell.row.label in only]
    with alone_in(out):
        store = ResultsStore(out, suite, command, say, grid)
        waiting = store.take_up(wanted, force=force)
        if waiting and suite.drawing is not None:
            draw_once(out / "phantom", **suite.drawing, say=say)
        _check_data(waiting)
        if len(waiting) < len(wanted):
            say(f"{len(wanted) - len(waiting)} of {len(wanted)} cells are finished already")
        with shown_progress(console, len(wanted), len(wanted) - len(waiting)) as progress:
            _train_all(store, waiting, jobs, progress, lambda: _write(store, written), ends)
        results = _write(store, written)
    return results, [cell for cell in cells if not store.finished(cell)]


def _write(store: ResultsStore, written: Written | None) -> BenchmarkResults:
    results = store.write()
    if written is not None:
        written(results)
    return results


def _train_all(
    store: ResultsStore,
    waiting: list[Cell],
    jobs: int,
    progress: CellProgress,
    write: Callable[[], object],
    ends: float | None,
) -> None:
    """One run for each digest; the cells that share it are filled as soon as it ends."""
    first: dict[str, Cell] = {}
    for cell in waiting:
        first.setdefault(cell.run, cell)
    runs = list(first.values())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    tasks = (_task(store, cell, cores, jobs, ends) for cell in runs)  # lazily: by then it is known how long others took
    left = {cell.run: cell.row for cell in runs}
    if jobs == 1:
        outcomes = _one_by_one(tasks, runs, progress)
    else:
        outcomes = run_side_by_side(list(tasks), jobs, max(1, cores // jobs))
    with closing(outcomes):  # where recording fails, nothing more is trained
        for index, outcome in outcomes:
            if outcome.stopped:
                continue
            cell = runs[index]
            del left[cell.run]
            sharing = [other for other in waiting if other.run == cell.run]
            for one in sharing:
                _record(store, one, outcome, own=one is cell)
            write()
            estimate = seconds_left((str(row.method["name"]) for row in left.values()), store.seconds(), jobs)
            for one in sharing:
                progress.end(one, outcome, estimate)


def _record(store: ResultsStore, cell: Cell, outcome: Outcome, *, own: bool) -> None:
    """`own`: whether the run was the cell's own, not that of another with the same settings."""
    if outcome.error is not None:
        store.fail(cell, outcome.error)
    elif own:
        assert outcome.results is not None
        store.record(cell, outcome.results, outcome.seconds)
    else:
        store.share(cell)


def _one_by_one(tasks: Iterable[Task], cells: Sequence[Cell], progress: CellProgress) -> Outcomes:
    decode_cache = DecodeCache()
    for index, (task, cell) in enumerate(zip(tasks, cells, strict=True)):
        progress.begin(cell)
        outcome = run_cell(task, decode_cache)
        yield index, outcome
        if outcome.stopped:
            return


def _task(store: ResultsStore, cell: Cell, cores: int, jobs: int, ends: float | None) -> Task:
    experiment = cell.experiment
    if jobs > 1 and experiment.training.workers is None:  # each process its share of the cores
        training = experiment.training.model_copy(update={"workers": max(0, cores // jobs - 1)})
        experiment = experiment.model_copy(update={"training": training})
    expected = seconds_left([str(cell.row.method["name"])], store.seconds(), jobs=1) or 0.0
    return Task(
        experiment, store.run_folder(cell).path, store.out / "logs" / f"{cell.run}.log",
        begin_before=None if ends is None else ends - expected,
    )  # fmt: skip


def _check_data(cells: Sequence[Cell]) -> None:
    """What a row needs and its folders do not have shows now, not hours later."""
    seen: set[str] = set()
    for cell in cells:
        cls, _, _ = method_config(cell.experiment.method)
        key = f"{cls.needs} {cell.experiment.data!r}"
        if key in seen:
            continue
        seen.add(key)
        try:
            load_data(cell.experiment.data, cls.needs)
        except (ConfigError, DataError) as reason:
            raise type(reason)(f"system '{cell.row.label}': {reason}") from None


def _refuse_foreign(out: Path) -> None:
    """A benchmark writes only into a folder that is new, empty or a benchmark's."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; give the benchmark a folder of its own with --out.")
    own = [out / name for name in (FILE, f"{FILE}.damaged", LOCK, "runs", "phantom")]
    own.append(unfinished_phantom(out / "phantom"))
    if out.exists() and any(out.iterdir()) and not any(path.exists() for path in own):
        raise ConfigError(f"{out} is not empty and holds no benchmark; choose another --out, nothing is overwritten.")
