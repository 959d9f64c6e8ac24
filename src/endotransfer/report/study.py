"""What a report is about: one run, or the runs and cells of a benchmark, a sweep or a demo folder."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults, SuiteDescription, label_of
from endotransfer.compare.system_row import file_slug
from endotransfer.config import Experiment, read_experiment
from endotransfer.errors import CheckpointError, DataError, EndotransferError
from endotransfer.io import JSON, read_json_object
from endotransfer.methods.resolve import is_proposed
from endotransfer.report.benchmark_rows import BenchmarkTable, read_table
from endotransfer.results import Results

AGAIN = "measure the run again, or remove the file"


@dataclass(frozen=True)
class Run:
    """A run folder under the name of its system."""

    label: str
    seed: int
    path: Path
    miou: float | None = None

    @cached_property
    def experiment(self) -> Experiment:
        return read_experiment(self.path / "config.yaml")


@dataclass(frozen=True)
class Study:
    """All that was found in a folder."""

    path: Path
    results: BenchmarkResults = field(default_factory=BenchmarkResults)  # of a single run: a benchmark of one cell
    runs: list[Run] = field(default_factory=list)

    @property
    def cells(self) -> list[BenchmarkCell]:
        return self.results.cells

    @cached_property
    def table(self) -> BenchmarkTable:
        """The figures in rows and columns, as the other tables of a benchmark show them."""
        return read_table(self.results)

    @property
    def title(self) -> str:
        suite = self.results.suite
        return suite.name if "name" in suite.model_fields_set and suite.name else self.path.resolve().name

    @property
    def is_sweep(self) -> bool:
        return any(cell.grid for cell in self.cells)

    @property
    def reference(self) -> str:
        return self.table.reference or "source_only"

    def systems(self) -> dict[str, list[Run]]:
        """Runs by system, in the order in which they were found; measured ones first, then by seed."""
        groups: dict[str, list[Run]] = {}
        for run in self.runs:
            groups.setdefault(run.label, []).append(run)
        return {label: sorted(some, key=lambda run: (run.miou is None, run.seed)) for label, some in groups.items()}

    def shown(self, most: int) -> list[Run]:
        """One run of each of at most `most` systems: bounds and reference, proposed methods, then the best."""
        firsts = [runs[0] for runs in self.systems().values()]
        frame = {row.label for row in self.table.rows if row.upper_bound} | {self.reference}
        proposed = {cell.label for cell in self.cells if is_proposed(cell.results.method)}

        def rank(run: Run) -> tuple[bool, bool, float]:
            return (run.label not in frame, run.label not in proposed, -(run.miou or 0.0))

        chosen = sorted(firsts, key=rank)[:most]
        return [run for run in firsts if run in chosen]

    def leading(self) -> Run | None:
        """The run of the highest mIoU among the systems that had to do without the target's masks."""
        bounds = {row.label for row in self.table.rows if row.upper_bound}
        measured = [run for run in self.runs if run.miou is not None]
        return max(measured, key=lambda run: (run.label not in bounds, run.miou), default=None)


def read_study(folder: Path) -> Study:
    """Read a run folder (`config.yaml`), or a folder with `results.json` (`cells`) and run folders in or under it."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; give a run folder or a benchmark folder.")
    content = _read(folder / "results.json")
    if (folder / "config.yaml").exists() or "method" in content:
        return _study_of_run(folder)
    found = sorted(path.parent for path in [*folder.glob("*/config.yaml"), *folder.glob("runs/*/config.yaml")])
    of_runs = [(path, _results_of(path)) for path in found]
    results = _benchmark(folder / "results.json", content)
    if not results.cells:
        single = [BenchmarkCell.of_run(own) for _, own in of_runs if own]
        results = results.model_copy(update={"cells": single})
    if not results.cells and not found:
        raise DataError(f"{folder} holds no run and no results.json with cells; give a run or a benchmark folder.")
    return Study(folder, results, _runs(of_runs, results.cells))


def _study_of_run(folder: Path) -> Study:
    results = _results_of(folder)
    cells = [BenchmarkCell.of_run(results)] if results else []
    suite = SuiteDescription(name=results.name) if results and results.name else SuiteDescription()
    runs = [_run(folder, cells[0] if cells else None, {})] if (folder / "config.yaml").exists() else []
    return Study(folder, BenchmarkResults(suite=suite, cells=cells), runs)


def _runs(of_runs: list[tuple[Path, Results | None]], cells: list[BenchmarkCell]) -> list[Run]:
    slugs = {file_slug(cell.label): cell.label for cell in cells}
    by_name = {_folder_of(cell): cell for cell in reversed(cells)}  # a run under two labels goes by the first
    runs = [
        _run(path, by_name.get(path.name) or (BenchmarkCell.of_run(own) if own else None), slugs)
        for path, own in of_runs
    ]
    order = {label: place for place, label in enumerate(dict.fromkeys(cell.label for cell in cells))}
    return sorted(runs, key=lambda run: order.get(run.label, len(order)))


def file_name(label: str, taken: Iterable[str] = ()) -> str:
    """A label as part of a file's name; another one where an earlier label gave the same."""
    name = plain = re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-").lower()[:60] or "system"
    count = 2
    while name in taken:
        name, count = f"{plain}-{count}", count + 1
    return name


def _folder_of(cell: BenchmarkCell) -> str:
    return cell.run or f"{file_slug(cell.label)}-seed{cell.seed}"


def _run(path: Path, cell: BenchmarkCell | None, slugs: dict[str, str]) -> Run:
    """An unfinished run has no cell; its folder tells whose it is, or its experiment does."""
    if cell is not None:
        return Run(cell.label, cell.seed, path, cell.figure("miou"))
    slug, _, seed = path.resolve().name.rpartition("-seed")
    return Run(slugs.get(slug) or _named_by_experiment(path), int(seed) if seed.isdecimal() else 0, path)


def _named_by_experiment(path: Path) -> str:
    try:
        method = read_experiment(path / "config.yaml").method
    except EndotransferError:
        return path.resolve().name
    named = {key: method[key] for key in ("preset", "variant") if method.get(key)}
    return label_of(Results.model_validate({"method": method["name"], **named}))


def _read(path: Path) -> dict[str, JSON]:
    return read_json_object(path, DataError, AGAIN) if path.exists() else {}


def _results_of(run: Path) -> Results | None:
    try:
        return Results.read(run / "results.json") if (run / "results.json").exists() else None
    except CheckpointError as reason:
        raise DataError(str(reason)) from None


def _benchmark(path: Path, content: dict[str, JSON]) -> BenchmarkResults:
    listed = content.get("cells")
    named = [cell for cell in listed if isinstance(cell, dict) and "method" in cell] if isinstance(listed, list) else []
    try:
        return BenchmarkResults.model_validate({**content, "cells": named})
    except ValidationError as reason:
        fault = reason.errors(include_url=False)[0]
        raise DataError(f"{path} is damaged: {'.'.join(map(str, fault['loc']))}: {fault['msg']}; {AGAIN}.") from None
