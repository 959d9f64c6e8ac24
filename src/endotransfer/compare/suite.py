"""A suite: one task, several systems.  A YAML file that is an experiment with a list of `systems`."""

from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import Field, PrivateAttr, ValidationError, field_validator

from endotransfer.compare.system_row import SystemRow, row_of
from endotransfer.config import (
    LARGEST_SEED,
    Experiment,
    Strict,
    experiment_from,
    explain,
    overridden,
    read_mapping,
    rename_keys,
    resolve_paths,
)
from endotransfer.config.strict import RawConfig
from endotransfer.errors import ConfigError
from endotransfer.methods import method_config
from endotransfer.methods.resolve import check_needs
from endotransfer.recipes import locate
from endotransfer.registry import nearest

Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
SECTIONS = ("data", "model", "training", "evaluation")


class Drawing(TypedDict):
    """How a phantom is drawn."""

    images: int
    seed: int
    size: int
    variant: Literal["lesion", "five_class"]


class PhantomConfig(Strict):
    """The data of a suite that names no folders: drawn once, into the folder of its results."""

    images: int = Field(default=240, ge=3, le=10**6)  # of each domain
    seed: Seed = 0
    size: int = Field(default=64, ge=32, le=1024)
    variant: Literal["lesion", "five_class"] = "lesion"
    model: RawConfig = Field(default_factory=dict)  # laid over the suite's section while the phantom is used
    training: RawConfig = Field(default_factory=dict)


class Suite(Strict):
    """What a suite's file may say.  `data` to `evaluation` are those of an experiment; a row may lay over them."""

    name: str = "benchmark"
    seed: Seed = 0  # the first one
    data: RawConfig = Field(default_factory=dict)
    model: RawConfig = Field(default_factory=dict)
    method: object = None  # what `train` and `sweep` take from this file; a benchmark trains the systems
    training: RawConfig = Field(default_factory=dict)
    evaluation: RawConfig = Field(default_factory=dict)
    systems: tuple[str | RawConfig, ...] = Field(default=(), min_length=1)
    seeds: Annotated[int, Field(ge=1, le=1000)] | tuple[Seed, ...] = 1  # how many, or which
    reference: str | None = None  # the label that intervals are against; None: source_only, where there is such a row
    table: Literal[1, 2, 3, 4] | None = None  # the paper's table that the rows are printed as
    phantom: PhantomConfig | None = None  # the data, where data.source is not given
    _folder: Path = PrivateAttr(default=Path())

    @field_validator("data", "model", "training", "evaluation", mode="before")
    @classmethod
    def _empty_section(cls, value: object) -> object:
        return {} if value is None else value

    @field_validator("table", mode="before")
    @classmethod
    def _no_table(cls, value: object) -> object:
        return None if value == "none" else value

    @cached_property
    def rows(self) -> tuple[SystemRow, ...]:
        rows: dict[str, SystemRow] = {}
        for entry in self.systems:
            row = row_of(entry, rows)
            if row.label in rows or row.slug in {other.slug for other in rows.values()}:
                raise ConfigError(f"two systems are called '{row.label}'; give one of them another `label`.")
            rows[row.label] = row
        return tuple(rows.values())

    @property
    def uses_phantom(self) -> bool:
        return "source" not in self.data

    @property
    def drawing(self) -> Drawing | None:
        """How the phantom is drawn, where one is."""
        if self.phantom is None or not self.uses_phantom:
            return None
        own = self.phantom
        return Drawing(images=own.images, seed=own.seed, size=own.size, variant=own.variant)

    @property
    def reference_label(self) -> str | None:
        labels = [row.label for row in self.rows]
        return self.reference or ("source_only" if "source_only" in labels else None)

    def seed_list(self, asked: int | None = None) -> list[int]:
        """The seeds of every row: `asked` of them, or as the file says."""
        if asked is None and isinstance(self.seeds, tuple):
            return list(dict.fromkeys(self.seeds))
        number = asked if asked is not None else self.seeds
        assert isinstance(number, int)
        return list(range(self.seed, self.seed + number))

    def experiment(self, row: SystemRow, seed: int, phantom: Path) -> Experiment:
        """What `row` is trained as; `phantom` is where the phantom lies, if there is one."""
        raw = {section: deepcopy(getattr(self, section)) for section in SECTIONS}
        phantom = phantom.absolute()  # unlike the file's paths it does not start from the file's folder
        if self.uses_phantom:
            raw["data"] |= {"source": str(phantom / "gastroscopy"), "target": str(phantom / "capsule")}
        raw["model"] |= row.model
        raw["training"] |= row.training
        raw |= {"name": self.name, "seed": seed, "method": dict(row.method)}
        return resolve_paths(experiment_from(raw, f"system '{row.label}'"), self._folder)

    def with_reference(self, label: str | None) -> "Suite":
        return self.model_copy(update={"reference": label})


def read_suite(path: Path | str, overrides: list[str] | None = None) -> Suite:
    """Read a suite's file, or the recipe of that name (see `read_experiment`).  `overrides`: `a.b=c` each."""
    raw, folder = read_mapping_with_phantom(Path(path), overrides)
    return suite_from(raw, folder, str(path))


def read_mapping_with_phantom(path: Path, overrides: list[str] | None = None) -> tuple[RawConfig, Path]:
    """What a file and `overrides` say, and the folder that its paths start from.

    Where no folders are named, the phantom's own settings replace the file's, but not what `overrides` ask for.
    """
    file, folder = locate(path)
    raw = _with_systems(read_mapping(file), path)
    asked = overridden(raw, overrides)
    data = asked.get("data") or {}
    if isinstance(data, dict) and "source" not in data:
        asked = overridden(_laid_over(raw, asked.get("phantom"), path), overrides)
    return asked, folder


def _with_systems(raw: RawConfig, where: Path) -> RawConfig:
    """`systems: capsule` stands for the systems of that recipe, so that several transfers have one list of rows."""
    name = raw.get("systems")
    if not isinstance(name, str):
        return raw
    rows = read_mapping(locate(name)[0]).get("systems")
    if not isinstance(rows, list):
        raise ConfigError(f"{where}: `systems: {name}` names a file without a list of systems; write the list itself.")
    return {**raw, "systems": rows}


def suite_from(raw: RawConfig, folder: Path, where: str = "suite") -> Suite:
    """Validate a mapping with all its rows, so that the last row's mistake shows before the first is trained."""
    try:
        suite = Suite.model_validate(rename_keys(raw, where))
    except ValidationError as reason:
        raise ConfigError(f"{where}: {'; '.join(explain(reason, Suite))}") from None
    suite._folder = folder
    if "systems" not in raw:
        raise ConfigError(f"{where} names no systems; add for example `systems: [source_only, lta]`.")
    _check_rows(suite, where)
    if suite.reference is not None and suite.reference not in {row.label for row in suite.rows}:
        known = nearest(suite.reference, [row.label for row in suite.rows])
        raise ConfigError(f"{where}: the reference '{suite.reference}' is not among the systems; {known}")
    return suite


def _check_rows(suite: Suite, where: str) -> None:
    for row in suite.rows:
        experiment = suite.experiment(row, suite.seed, Path("phantom"))
        try:
            cls, _, _ = method_config(experiment.method)
            check_needs(cls, experiment.model)
        except ConfigError as reason:
            raise ConfigError(f"{where}, system '{row.label}': {reason}") from None
        if experiment.training.devices * experiment.training.nodes > 1:
            raise ConfigError(f"{where}: a cell is trained by one process; set training.devices to 1, and use --jobs.")


def _laid_over(raw: RawConfig, phantom: object, where: Path) -> RawConfig:
    """The suite with the phantom's sections laid over its own."""
    if phantom is None:
        raise ConfigError(
            f"{where} names no data; write data.source and data.target, or `phantom: {{}}` to have some drawn."
        )
    try:
        config = PhantomConfig.model_validate(phantom)
    except ValidationError as reason:
        raise ConfigError(f"{where}, phantom: {'; '.join(explain(reason, PhantomConfig))}") from None
    sections = {name: dict(raw.get(name) or {}) for name in ("data", "model", "training")}
    sections["data"]["size"] = config.size
    sections["model"] |= config.model
    sections["training"] |= config.training
    return {**raw, **sections}
