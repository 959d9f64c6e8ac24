"""The commands that compare: benchmark, sweep, compare.  Thin, as all of the command line."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Context
from typer.core import TyperCommand

from endotransfer import api
from endotransfer.cli.options import Imports, JsonOut, Settings

SuiteArgument = Annotated[Path, typer.Argument(help="A suite (YAML) with a list of systems, or a recipe's name.")]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder of the results; what is finished there is kept.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="How many, instead of what the file says.")]
Jobs = Annotated[int, typer.Option(min=1, max=64, help="Cells trained side by side, each in its own process.")]
Again = Annotated[bool, typer.Option("--force", help="Train cells again whose settings have changed.")]
Minutes = Annotated[
    float | None, typer.Option(min=0, help="Leave runs that will not have ended by then to the next time.")
]
FAILED = 4  # exit code where some cells have no figures because they failed


def benchmark(
    suite: SuiteArgument,
    out: OutFolder,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    settings: Settings = None,
    only: Annotated[list[str] | None, typer.Option(help="Train only the system of this label (repeatable).")] = None,
    force: Again = False,
    minutes: Minutes = None,
    imports: Imports = None,
) -> None:
    """Train every system of a suite with every seed and write the table; a stopped benchmark continues."""
    from endotransfer.report.benchmark_table import print_benchmark

    run = api.benchmark(
        suite, out, settings=settings or (), seeds=seeds, jobs=jobs, only=only or (), force=force, minutes=minutes,
        command=_command(),
    )  # fmt: skip
    print_benchmark(run.results)
    _leave(run, out, "results.json, table.md, table.csv, table.tex")


def sweep(
    suite: SuiteArgument,
    out: OutFolder,
    grid: Annotated[
        list[str] | None, typer.Option(metavar="KEY=A,B,C", help="Values of a setting of the method (repeatable).")
    ] = None,
    grids: Annotated[
        Path | None, typer.Option(help="A file of grids by system: each is searched, in place of --grid.")
    ] = None,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    settings: Settings = None,
    system: Annotated[str | None, typer.Option(help="Vary the system of this label, not the file's `method`.")] = None,
    force: Again = False,
    minutes: Minutes = None,
    beside: Annotated[
        list[Path] | None, typer.Option(help="search.csv of another transfer: settings are chosen by the mean of all.")
    ] = None,
    imports: Imports = None,
) -> None:
    """Train a method at every point of a grid of its settings, or several systems at theirs; stopped, it continues."""
    from rich.console import Console

    from endotransfer.compare.sweep import print_sweep
    from endotransfer.errors import ConfigError

    if grids is not None:
        if grid or system:
            raise ConfigError("--grids names systems and their settings itself; leave out --grid and --system.")
        _search(suite, grids, out, seeds, jobs, settings, force, minutes, beside or [])
        return
    if beside:
        raise ConfigError("--beside chooses among the grids of --grids; leave it out with --grid.")
    run = api.sweep(
        suite, grid or [], out, settings=settings or (), system=system, seeds=seeds, jobs=jobs, force=force,
        minutes=minutes, command=_command(),
    )  # fmt: skip
    assert run.results.matrix is not None
    print_sweep(run.results.matrix, Console())
    _leave(run, out, "results.json, sweep.csv")


def _search(
    suite: Path, grids: Path, out: Path, seeds: int | None, jobs: int, settings: list[str] | None, force: bool,
    minutes: float | None, beside: list[Path],
) -> None:  # fmt: skip
    from endotransfer.compare.searched_points import best_settings, read_search_csv, searched_points

    others = [read_search_csv(path) for path in beside]
    run = api.search(
        suite, grids, out, settings=settings or (), seeds=seeds, jobs=jobs, force=force, minutes=minutes,
        command=_command(),
    )  # fmt: skip
    for system, (chosen, mean) in best_settings([searched_points(run.results.summary), *others]).items():
        print(f"{system}: {chosen} (mIoU {mean:.2f})")
    _leave(run, out, "results.json, search.csv")


class TwoSides(TyperCommand):
    """`--against` takes all folders up to the next option, so that a shell may expand a pattern behind it."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer's own Context
        return super().parse_args(ctx, repeated_option(args, "--against"))


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two runs, or the seeds of a system.", metavar="RUN ...")],
    against: Annotated[
        list[Path] | None, typer.Option(metavar="RUN ...", help="The seeds of another system, paired by seed.")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(help="miou, iou_normal, iou_lesion, iou_lesion_within, normal_painted, dice_lesion, iou.CLASS"),
    ] = "miou",
    out: JsonOut = None,
) -> None:
    """Is the first better than the second on the same test images?  Paired, with an interval over images and seeds."""
    from rich.console import Console

    from endotransfer.compare.comparison_text import print_comparison
    from endotransfer.errors import ConfigError
    from endotransfer.io import write_atomically

    if not against and len(runs) != 2:
        raise ConfigError(
            f"compare takes two run folders, and {len(runs)} are given; put the second system behind --against."
        )
    if out is not None and out.exists():
        raise ConfigError(f"{out} exists already; choose another --out.")
    first, second = (runs, against) if against else (runs[:1], runs[1:])
    found = api.compare_runs(first, second, metric)
    print_comparison(found, Console())
    if out is not None:
        write_atomically(out, json.dumps(found.to_dict(), indent=2), ConfigError)


def repeated_option(args: list[str], name: str) -> list[str]:
    """`--against a b --metric x` -> `--against a --against b --metric x`."""
    found: list[str] = []
    within = False
    for arg in args:
        if arg.startswith("-"):
            within = arg == name
            found += [] if within else [arg]
        else:
            found += [name, arg] if within else [arg]
    return found if name not in args or name in found else [*found, name]


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
