"""A cell of a benchmark: one row trained with one seed, known by a digest of all that its figures depend on."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from endotransfer.compare.suite import Suite
from endotransfer.compare.system_row import SystemRow
from endotransfer.config import Experiment
from endotransfer.engine.resuming import MAY_CHANGE, leaves
from endotransfer.methods import method_config

Figures = dict[str, Any]  # a finished cell, as results.json has it


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

    @property
    def head(self) -> Figures:
        """What the cell is, whether or not it was ever trained."""
        settings = self.experiment.method
        return {
            **self.row.head,
            "method": settings["name"],
            "preset": settings["preset"],
            "variant": settings.get("variant"),
            "seed": self.seed,
            "digest": self.digest,
            "run": self.run,
        }


def plan_cells(suite: Suite, seeds: Sequence[int], phantom: Path) -> list[Cell]:
    """Every row with every seed; a seed's rows stand together, so that a stopped benchmark has whole columns."""
    owners: dict[str, str] = {}
    cells = []
    for seed in seeds:
        for row in suite.rows:
            experiment = resolved(suite.experiment(row, seed, phantom))
            digest = digest_of(experiment, suite.drawing)
            run = owners.setdefault(digest, f"{row.slug}-seed{seed}")
            cells.append(Cell(row, seed, experiment, digest, run))
    return cells


def resolved(experiment: Experiment) -> Experiment:
    """The same experiment with every key of its method written out, as a run folder keeps it."""
    cls, preset, config = method_config(experiment.method)
    variant = {"variant": name} if (name := experiment.method.get("variant")) is not None else {}
    settings = {"name": cls.name, "preset": preset, **config.model_dump(mode="json"), **variant}
    return experiment.model_copy(update={"method": settings})


def digest_of(experiment: Experiment, drawing: Figures | None = None) -> str:
    """Sixteen letters that change with any setting that changes the figures.

    Of a path only the last name counts, so that a file of results can be carried to another machine.  Defaults do
    not count, so that it stays valid where a later version knows more keys; names of presets and variants do not
    either, since it is their values that train.  `drawing`: how the phantom was drawn.
    """
    cls, _, config = method_config(experiment.method)
    tree = experiment.model_dump(mode="json", exclude_defaults=True, exclude={"name", "method"})
    tree["method"] = {"name": cls.name, **config.model_dump(mode="json", exclude_defaults=True)}
    for role in ("source", "target", "test"):
        for folder in tree["data"].get(role) or ():
            folder["path"] = Path(folder["path"]).name
    if tree.get("model", {}).get("weights"):
        tree["model"]["weights"] = Path(tree["model"]["weights"]).name
    kept = {place: value for place, value in leaves(tree) if place not in MAY_CHANGE}
    text = json.dumps([kept, drawing], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
