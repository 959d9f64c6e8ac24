"""The part of the Python interface that compares: benchmarks, sweeps, searches, and runs against each other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.io import write_atomically
from endotransfer.paths import AnyPath, as_path, as_paths

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.console import Console

    from endotransfer.compare.benchmark_results import BenchmarkResults
    from endotransfer.compare.cells import Cell
    from endotransfer.compare.paired import Comparison


class BenchmarkRun(NamedTuple):
    """`results`: what results.json holds.  `missing`: the cells without results, failed or not yet trained."""

    results: "BenchmarkResults"
    missing: "list[Cell]"


def benchmark(
    suite: AnyPath, out: AnyPath, *, settings: Sequence[str] = (), seeds: int | None = None, jobs: int = 1,
    only: Sequence[str] = (), force: bool = False, minutes: float | None = None, command: str = "",
    console: "Console | None" = None,
) -> BenchmarkRun:  # fmt: skip
    """Train every system of a suite (a file, or a built-in recipe) with every seed, and write the tables to `out`.

    A benchmark that was stopped continues.  `jobs`: systems trained side by side; `only`: their labels;
    `minutes`: runs that will not have ended by then are left for the next time.
    """
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.suite import read_suite
    from endotransfer.report.benchmark_table import write_tables

    folder = as_path(out, "out")
    results, missing = run_benchmark(
        read_suite(as_path(suite, "the suite"), list(settings)), folder, seeds=seeds, jobs=jobs, only=only, force=force,
        minutes=minutes, command=command, console=console, written=lambda results: write_tables(results, folder),
    )  # fmt: skip
    return BenchmarkRun(results, missing)


def sweep(
    suite: AnyPath, grid: "Mapping[str, Sequence[JsonValue]] | Sequence[str]", out: AnyPath, *,
    settings: Sequence[str] = (), system: str | None = None, seeds: int | None = None, jobs: int = 1,
    force: bool = False, minutes: float | None = None, command: str = "", console: "Console | None" = None,
) -> BenchmarkRun:  # fmt: skip
    """Train one method at every point of a grid of its settings: `{"mu": [1, 10]}`, or texts such as `mu=1,10`.

    `system`: vary the system of this label, not the file's `method`.
    """
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.sweep import as_csv, read_grid, read_sweep
    from endotransfer.config import current_key

    folder = as_path(out, "out")
    values = {key: list(row) for key, row in grid.items()} if isinstance(grid, Mapping) else read_grid(grid)
    values = {current_key(key): row for key, row in values.items()}

    def write_csv(results: "BenchmarkResults") -> None:
        write_atomically(folder / "sweep.csv", as_csv(values, results.summary), CheckpointError)

    results, missing = run_benchmark(
        read_sweep(as_path(suite, "the suite"), values, list(settings), system), folder, seeds=seeds, jobs=jobs,
        force=force, minutes=minutes, command=command, console=console, written=write_csv, grid=values,
    )  # fmt: skip
    return BenchmarkRun(results, missing)


def search(
    suite: AnyPath, grids: AnyPath, out: AnyPath, *, settings: Sequence[str] = (), seeds: int | None = None,
    jobs: int = 1, force: bool = False, minutes: float | None = None, command: str = "",
    console: "Console | None" = None,
) -> BenchmarkRun:  # fmt: skip
    """Train several systems of a suite, each at every point of its own grid; `grids`: a YAML file of these."""
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.search import read_grids, read_search
    from endotransfer.compare.searched_points import as_search_csv

    folder = as_path(out, "out")

    def write_csv(results: "BenchmarkResults") -> None:
        write_atomically(folder / "search.csv", as_search_csv(results.summary), CheckpointError)

    results, missing = run_benchmark(
        read_search(as_path(suite, "the suite"), read_grids(as_path(grids, "grids")), list(settings)), folder,
        seeds=seeds, jobs=jobs, force=force, minutes=minutes, command=command, console=console, written=write_csv,
    )  # fmt: skip
    return BenchmarkRun(results, missing)


def compare_runs(
    first: AnyPath | Iterable[AnyPath], second: AnyPath | Iterable[AnyPath], metric: str = "miou", *,
    resamples: int = 1000,
) -> "Comparison":  # fmt: skip
    """`metric` of two runs on the same test images, and first minus second with its 95 % interval (paired).

    Several runs of a side are seeds of one system; runs of equal seeds are paired, and the interval is over seeds too.
    """
    from endotransfer.compare.paired import compare_runs as compare

    sides = [as_paths(runs, name) for runs, name in ((first, "the first run"), (second, "the second run"))]
    if not all(sides):
        raise ConfigError("a side of the comparison has no run; name at least one run folder for each.")
    return compare(sides[0], sides[1], metric, resamples)
