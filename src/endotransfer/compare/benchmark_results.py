"""results.json of a benchmark: its suite, its cells, and a summary for each row."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from endotransfer.compare.label_summary import LabelSummary
from endotransfer.compare.sweep_matrix import SweepMatrix
from endotransfer.errors import CheckpointError
from endotransfer.io import write_atomically
from endotransfer.metrics.flat_model import FlatModel
from endotransfer.results import Results


class BenchmarkCell(FlatModel):
    """A row trained with a seed: its results, or the error that it failed with."""

    INNER: ClassVar[str] = "results"

    label: str
    group: str | None = None  # rows of one group stand together
    same_as: str | None = None  # the row whose runs these are
    grid: dict[str, JsonValue] | None = None  # of a sweep: the point's settings
    digest: str = ""  # of all settings that change the figures
    run: str = ""  # name of the run folder
    wall_seconds: float | None = None
    error: str | None = None  # instead of figures
    settings: dict[str, JsonValue] | None = None  # of data, model, training and evaluation, where not the default
    results: Results  # of a failed cell: what it is, and no figure

    @classmethod
    def collect(cls, raw: Mapping[str, object]) -> dict[str, object]:
        content = super().collect(raw)
        results = Results.model_validate(content["results"])
        return {**content, "label": content.get("label") or label_of(results), "results": results}

    @classmethod
    def of_run(cls, results: Results) -> "BenchmarkCell":
        """A run that belongs to no benchmark."""
        return cls(label=label_of(results), results=results)

    @property
    def key(self) -> tuple[str, int]:
        return self.label, self.seed

    @property
    def seed(self) -> int:
        return self.results.seed

    @property
    def is_whole(self) -> bool:
        """Whether it was written by a benchmark, and to its end."""
        named = bool(self.digest and self.run) and "seed" in self.results.model_fields_set
        return named and (self.error is not None or "miou" in self.results.figures)

    def figure(self, name: str) -> float | None:
        return self.results.figure(name)

    def to_dict(self) -> dict[str, object]:
        own = self.model_dump(mode="json", exclude={"results"}, exclude_none=True)
        known = {key: value for key, value in own.items() if value != ""}
        head = {key: value for key, value in known.items() if key in ("label", "group", "same_as", "grid")}
        return {**self.results.to_dict(), **head, "variant": self.results.variant, **known}


class SuiteDescription(BaseModel):
    """The suite as results.json keeps it: its task and rows, and of folders only their names."""

    name: str = "benchmark"
    table: int | str | None = None  # of the paper
    reference: str | None = None
    systems: list[str] = Field(default_factory=list)  # labels in order
    phantom: dict[str, JsonValue] | None = None
    data: dict[str, JsonValue] = Field(default_factory=dict)
    model: dict[str, JsonValue] = Field(default_factory=dict)
    training: dict[str, JsonValue] = Field(default_factory=dict)
    evaluation: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("systems", mode="before")
    @classmethod
    def _labels(cls, systems: object) -> object:
        """Entries are labels, or mappings with a `label`."""
        if not isinstance(systems, list):
            return systems or []
        names = [entry.get("label") if isinstance(entry, Mapping) else entry for entry in systems]
        return [str(name) for name in names if name]


class BenchmarkResults(FlatModel):
    """What `benchmark` and `sweep` return."""

    model_config = ConfigDict(extra="ignore")  # a file may hold notes

    suite: SuiteDescription = Field(default_factory=SuiteDescription)
    date: str = ""
    version: str = ""
    command: str = ""
    matrix: SweepMatrix | None = None  # of a sweep
    summary: list[LabelSummary] = Field(default_factory=list)
    cells: list[BenchmarkCell] = Field(default_factory=list)

    @field_validator("suite", mode="before")
    @classmethod
    def _no_suite(cls, suite: object) -> object:
        return suite or {}

    @field_validator("summary", "cells", mode="before")
    @classmethod
    def _none_yet(cls, entries: object) -> object:
        return entries or []

    @property
    def failed(self) -> list[BenchmarkCell]:
        return [cell for cell in self.cells if cell.error is not None]

    def write(self, path: Path) -> None:
        write_atomically(path, json.dumps(self.to_dict(), indent=2), CheckpointError)

    def __getitem__(self, key: str) -> Any:
        """What results.json has under `key`."""
        return self.to_dict()[key]


def label_of(results: Results) -> str:
    """A row that has no label of its own: method, preset and variant."""
    return results.system + (f" {results.variant}" if results.variant else "")
