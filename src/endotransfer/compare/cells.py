"""A cell of a benchmark: one row trained with one seed, known by a digest of all that its figures depend on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.compare.suite import Suite
from endotransfer.compare.system_row import SystemRow
from endotransfer.compare.task_settings import method_settings, task_settings
from endotransfer.config import Experiment
from endotransfer.engine.start_model import as_its_start
from endotransfer.methods.resolve import resolved
from endotransfer.results import Results


@dataclass(frozen=True)
class Cell:
    row: SystemRow
    seed: int
    experiment: Experiment = field(repr=False)
    digest: str
    run: str  # the name of its run, which another cell of the same digest may have made

    @property
    def key(self) -> tuple[str, int]:
        return self.row.label, self.seed

    def finished(self, results: Results, *, run: str | None = None, seconds: float | None = None) -> BenchmarkCell:
        """This cell with the `results` of its run, or of another cell's `run` with the same settings."""
        named = results.model_copy(update=self._identity)
        wall = None if seconds is None else round(seconds, 1)
        return self._described(named, run=run or self.run, wall_seconds=wall)

    def failed(self, sentence: str) -> BenchmarkCell:
        return self._described(Results.model_validate(self._identity), run=self.run, error=sentence)

    @property
    def _identity(self) -> dict[str, object]:
        settings = self.experiment.method
        named = {"method": settings["name"], "preset": settings["preset"], "seed": self.seed}
        return named | ({"variant": settings["variant"]} if settings.get("variant") else {})

    def _described(
        self, results: Results, run: str, wall_seconds: float | None = None, error: str | None = None
    ) -> BenchmarkCell:
        row = self.row
        return BenchmarkCell(
            label=row.label, group=row.group, same_as=row.same_as, grid=row.grid, digest=self.digest, run=run,
            wall_seconds=wall_seconds, error=error, settings=task_settings(self.experiment), results=results,
        )  # fmt: skip


def plan_cells(suite: Suite, seeds: Sequence[int], phantom: Path) -> list[Cell]:
    """Every row with every seed; a seed's rows stand together, so that a stopped benchmark has whole columns."""
    owners: dict[str, str] = {}
    cells = []
    for seed in seeds:
        for row in suite.rows:
            experiment = resolved(as_its_start(suite.experiment(row, seed, phantom)))
            digest = digest_of(experiment, suite.drawing)
            run = owners.setdefault(digest, f"{row.slug}-seed{seed}")
            cells.append(Cell(row, seed, experiment, digest, run))
    return cells


def digest_of(experiment: Experiment, drawing: Mapping[str, object] | None = None) -> str:
    """Sixteen letters that change with any setting that changes the figures.

    Of a path only the last name counts, so that a file of results can be carried to another machine.  Defaults do
    not count, so that it stays valid where a later version knows more keys; names of presets and variants do not
    either, since it is their values that train.  A method's `revision` does.  `drawing`: how the phantom was drawn.
    """
    seed = {"seed": experiment.seed} if experiment.seed else {}
    text = json.dumps([task_settings(experiment) | method_settings(experiment) | seed, drawing], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
