"""The commands that compare: benchmark, sweep, compare.  Thin, as all of the command line."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

SuiteArgument = Annotated[Path, typer.Argument(help="A suite (YAML): an experiment with a list of systems.")]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder of the results; what is finished there is kept.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="How many, instead of what the file says.")]
Jobs = Annotated[int, typer.Option(min=1, max=64, help="Cells trained side by side, each in its own process.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting.")]
Again = Annotated[bool, typer.Option("--force", help="Train cells again whose settings have changed.")]
FAILED = 4  # exit code where some cells have no figures because they failed


def add_commands(app: typer.Typer) -> None:
    for command in (benchmark, sweep, compare):
        app.command()(command)


def benchmark(
    suite: SuiteArgument,
    out: OutFolder,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    settings: Settings = None,
    only: Annotated[list[str] | None, typer.Option(help="Train only the system of this label (repeatable).")] = None,
    force: Again = False,
) -> None:
    """Train every system of a suite with every seed and write the table; a stopped benchmark goes on."""
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.suite import read_suite
    from endotransfer.report.benchmark_table import print_benchmark, write_tables

    results, missing = run_benchmark(
        read_suite(suite, settings), out, seeds=seeds, jobs=jobs, only=only or (), force=force, command=_command(),
        written=lambda results: write_tables(results, out),
    )  # fmt: skip
    print_benchmark(results)
    _leave(results, missing, out, "results.json, table.md, table.csv, table.tex")


def sweep(
    suite: SuiteArgument,
    grid: Annotated[list[str], typer.Option(metavar="KEY=A,B,C", help="Values of a setting of the method.")],
    out: OutFolder,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    settings: Settings = None,
    system: Annotated[str | None, typer.Option(help="Vary the system of this label, not the file's `method`.")] = None,
    force: Again = False,
) -> None:
    """Train one method at every point of a grid of its settings; a stopped sweep goes on."""
    from rich.console import Console

    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.sweep import as_csv, matrix_of, print_sweep, read_grid, read_sweep
    from endotransfer.errors import CheckpointError
    from endotransfer.io import write_atomically

    values = read_grid(grid)

    def write_csv(results: dict[str, Any]) -> None:
        write_atomically(out / "sweep.csv", as_csv(values, results["summary"]), CheckpointError)

    results, missing = run_benchmark(
        read_sweep(suite, values, settings, system), out, seeds=seeds, jobs=jobs, force=force, command=_command(),
        written=write_csv, extra={"matrix": lambda cells: matrix_of(values, cells)},
    )  # fmt: skip
    print_sweep(results["matrix"], Console())
    _leave(results, missing, out, "results.json, sweep.csv")


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two run folders.", metavar="RUN RUN")],
    metric: Annotated[str, typer.Option(help="miou, iou_normal, iou_lesion, dice_lesion or iou.CLASS")] = "miou",
    out: Annotated[Path | None, typer.Option("--out", help="Also write the figures to this JSON file.")] = None,
) -> None:
    """Is the first run better than the second on the same test images?  Paired, with an interval."""
    from rich.console import Console

    from endotransfer.compare.paired import compare_runs, print_comparison
    from endotransfer.errors import ConfigError
    from endotransfer.io import write_atomically

    if len(runs) != 2:
        raise ConfigError(f"compare takes two run folders, and {len(runs)} are given.")
    if out is not None and out.exists():
        raise ConfigError(f"{out} exists already; choose another --out.")
    found = compare_runs(runs[0], runs[1], metric)
    print_comparison(found, Console())
    if out is not None:
        write_atomically(out, json.dumps(found, indent=2), ConfigError)


def _command() -> str:
    return shlex.join(["endotransfer", *sys.argv[1:]])


def _leave(results: dict[str, Any], missing: list[Any], out: Path, files: str) -> None:
    """Say what was written and what is missing; failed cells make an exit code."""
    tell: Callable[[str], None] = print
    tell(f"written: {files} in {out}")
    failed = [cell for cell in results["cells"] if "error" in cell]
    for cell in failed:
        tell(f"failed: {cell['label']}, seed {cell['seed']}: {cell['error']}")
    if left := len(missing) - len({(cell["label"], cell["seed"]) for cell in failed} & {cell.key for cell in missing}):
        tell(f"{left} cells are still to be trained; the same command goes on.")
    if failed:
        raise typer.Exit(FAILED)
