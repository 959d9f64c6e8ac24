"""What a report is about: one run, or the runs and cells of a benchmark, a sweep or a demo folder."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from endotransfer.config import Experiment, read_experiment
from endotransfer.errors import DataError, EndotransferError
from endotransfer.report.benchmark_rows import BenchmarkTable, label_of, read_table

Cell = dict[str, Any]  # the figures of one run, as in its results.json


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
    cells: list[Cell] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    results: dict[str, Any] = field(default_factory=dict)  # results.json as a whole, where there is one

    @cached_property
    def table(self) -> BenchmarkTable:
        """The figures in rows and columns, as the other tables of a benchmark show them."""
        return read_table({**self.results, "cells": self.cells})

    @property
    def title(self) -> str:
        suite = self.results.get("suite")
        named = suite.get("name") if isinstance(suite, dict) else self.results.get("name")
        return str(named or self.path.resolve().name)

    @property
    def is_sweep(self) -> bool:
        return any(cell.get("grid") for cell in self.cells)

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
        """One run of each of at most `most` systems: those that frame the table first, then ours, then the best."""
        firsts = [runs[0] for runs in self.systems().values()]
        frame = {row.label for row in self.table.rows if row.upper_bound} | {self.reference}

        def rank(run: Run) -> tuple[bool, bool, float]:
            return (run.label not in frame, not run.label.startswith("semantic_transfer"), -(run.miou or 0.0))

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
    results = _read_json(folder / "results.json")
    if (folder / "config.yaml").exists() or "method" in results:
        runs = [_run(folder, results, {})] if (folder / "config.yaml").exists() else []
        return Study(folder, [results] if results else [], runs, results)
    found = sorted(path.parent for path in [*folder.glob("*/config.yaml"), *folder.glob("runs/*/config.yaml")])
    runs_with_results = [(path, _read_json(path / "results.json")) for path in found]
    listed = results.get("cells")
    cells = [cell for cell in listed if isinstance(cell, dict) and "method" in cell] if isinstance(listed, list) else []
    cells = cells or [own for _, own in runs_with_results if own]
    if not cells and not found:
        raise DataError(f"{folder} holds no run and no results.json with cells; give a run or a benchmark folder.")
    slugs = {_slug(label_of(cell)): label_of(cell) for cell in cells}
    by_name = {_folder_of(cell): cell for cell in reversed(cells)}  # a run under two labels goes by the first
    runs = [_run(path, by_name.get(path.name) or own, slugs) for path, own in runs_with_results]
    order = {label: place for place, label in enumerate(dict.fromkeys(map(label_of, cells)))}
    return Study(folder, cells, sorted(runs, key=lambda run: order.get(run.label, len(order))), results)


def file_name(label: str, taken: Iterable[str] = ()) -> str:
    """A label as part of a file's name; another one where an earlier label gave the same."""
    name = plain = re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-").lower()[:60] or "system"
    count = 2
    while name in taken:
        name, count = f"{plain}-{count}", count + 1
    return name


def _folder_of(cell: Cell) -> str:
    return str(cell.get("run") or f"{_slug(label_of(cell))}-seed{cell.get('seed', 0)}")


def _slug(label: str) -> str:
    """A label in the name of a benchmark's run folder, without what such a name cannot have."""
    return re.sub(r"[^\w.+=,-]+", "-", label).strip("-.") or "row"


def _run(path: Path, cell: Cell, slugs: dict[str, str]) -> Run:
    """An unfinished run has no cell; its folder tells whose it is, or its experiment does."""
    if "method" not in cell:
        slug, _, seed = path.resolve().name.rpartition("-seed")
        return Run(slugs.get(slug) or _named_by_experiment(path), int(seed) if seed.isdecimal() else 0, path)
    miou = cell.get("miou")
    number = float(miou) if isinstance(miou, int | float) else None
    return Run(label_of(cell), int(cell.get("seed", 0)), path, number)


def _named_by_experiment(path: Path) -> str:
    try:
        method = read_experiment(path / "config.yaml").method
    except EndotransferError:
        return path.resolve().name
    return label_of(
        {"method": method["name"], **{key: method[key] for key in ("preset", "variant") if method.get(key)}}
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as reason:
        raise DataError(f"cannot read {path}: {reason}; measure the run again, or remove the file.") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no figures; measure the run again, or remove the file.")
    return content
