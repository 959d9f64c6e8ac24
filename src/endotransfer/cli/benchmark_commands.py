"""The commands that compare: benchmark, sweep, compare.  Thin, as all of the command line."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from endotransfer import api
from endotransfer.cli.options import Imports, JsonOut, Settings

SuiteArgument = Annotated[Path, typer.Argument(help="A suite (YAML) with a list of systems, or a recipe's name.")]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder of the results; what is finished there is kept.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="How many, instead of what the file says.")]
Jobs = Annotated[int, typer.Option(min=1, max=64, help="Cells trained side by side, each in its own process.")]
Again = Annotated[bool, typer.Option("--force", help="Train cells again whose settings have changed.")]
FAILED = 4  # exit code where some cells have no figures because they failed


def benchmark(
    suite: SuiteArgument,
    out: OutFolder,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    settings: Settings = None,
    only: Annotated[list[str] | None, typer.Option(help="Train only the system of this label (repeatable).")] = None,
    force: Again = False,
    imports: Imports = None,
) -> None:
    """Train every system of a suite with every seed and write the table; a stopped benchmark continues."""
    from endotransfer.report.benchmark_table import print_benchmark

    run = api.benchmark(
        suite, out, settings=settings or (), seeds=seeds, jobs=jobs, only=only or (), force=force, command=_command()
    )
    print_benchmark(run.results)
    _leave(run, out, "results.json, table.md, table.csv, table.tex")


def sweep(
    suite: SuiteArgument,
    grid: Annotated[list[str], typer.Option(metavar="KEY=A,B,C", help="Values of a setting of the method.")],
    out: OutFolder,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    settings: Settings = None,
    system: Annotated[str | None, typer.Option(help="Vary the system of this label, not the file's `method`.")] = None,
    force: Again = False,
    imports: Imports = None,
) -> None:
    """Train one method at every point of a grid of its settings; a stopped sweep continues."""
    from rich.console import Console

    from endotransfer.compare.sweep import print_sweep

    run = api.sweep(
        suite, grid, out, settings=settings or (), system=system, seeds=seeds, jobs=jobs, force=force,
        command=_command(),
    )  # fmt: skip
    assert run.results.matrix is not None
    print_sweep(run.results.matrix, Console())
    _leave(run, out, "results.json, sweep.csv")


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two run folders.", metavar="RUN RUN")],
    metric: Annotated[str, typer.Option(help="miou, iou_normal, iou_lesion, dice_lesion or iou.CLASS")] = "miou",
    out: JsonOut = None,
) -> None:
    """Is the first run better than the second on the same test images?  Paired, with an interval."""
    from rich.console import Console

    from endotransfer.compare.paired import print_comparison
    from endotransfer.errors import ConfigError
    from endotransfer.io import write_atomically

    if len(runs) != 2:
        raise ConfigError(f"compare takes two run folders, and {len(runs)} are given.")
    if out is not None and out.exists():
        raise ConfigError(f"{out} exists already; choose another --out.")
    found = api.compare_runs(runs[0], runs[1], metric)
    print_comparison(found, Console())
    if out is not None:
        write_atomically(out, json.dumps(found.to_dict(), indent=2), ConfigError)


def _command() -> str:
    return shlex.join(["endotransfer", *sys.argv[1:]])


def _leave(run: "api.BenchmarkRun", out: Path, files: str) -> None:
    """Say what was written and what is missing; failed cells make an exit code."""
    print(f"written: {files} in {out}")
    failed = run.results.failed
    for cell in failed:
        print(f"failed: {cell.label}, seed {cell.seed}: {cell.error}")
    names = {cell.key for cell in failed}
    if left := sum(cell.key not in names for cell in run.missing):
        print(f"{left} cells are still to be trained; the same command goes on.")
    if failed:
        raise typer.Exit(FAILED)
