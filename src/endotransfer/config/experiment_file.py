"""Reading an experiment file: overrides and relative paths."""

from copy import deepcopy
from pathlib import Path

import yaml
from pydantic import ValidationError

from endotransfer.config.aliases import current_key, rename_keys
from endotransfer.config.data_config import FolderConfig
from endotransfer.config.experiment import Experiment
from endotransfer.config.model_config import WEIGHT_FILES
from endotransfer.config.strict import RawConfig
from endotransfer.config.validation_errors import explain
from endotransfer.errors import ConfigError
from endotransfer.io import parse_yaml, read_yaml
from endotransfer.recipes import locate

# One file serves `train` and `benchmark`: these keys make it a suite, and an experiment has no use for them.
SUITE_KEYS = ("systems", "seeds", "reference", "table", "phantom")


def read_experiment(path: Path | str, overrides: list[str] | None = None) -> Experiment:
    """Read an experiment file, or the recipe of that name.  Relative paths start from the file's own folder, those of a
    recipe from the working directory.  `overrides`: `a.b=c` each."""
    file, folder = locate(path)
    return resolve_paths(experiment_from(overridden(read_mapping(file), overrides), str(path)), folder)


def read_mapping(path: Path) -> RawConfig:
    """What a YAML file holds, which must be a mapping; settings that were renamed have their new names."""
    try:
        raw = read_yaml(path, ConfigError, "mend it, or give another YAML file")
    except FileNotFoundError:
        raise ConfigError(
            f"there is no experiment file {path}, nor a recipe of that name (`endotransfer recipes`); check the path."
        ) from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path} holds no experiment: it should be a mapping with at least `data:`.")
    return rename_keys(raw, str(path))


def overridden(raw: RawConfig, overrides: list[str] | None) -> RawConfig:
    """A copy of `raw` with each `a.b=c` of `overrides` carried out."""
    changed = deepcopy(raw)
    for override in overrides or []:
        _override(changed, override)
    return changed


def experiment_from(raw: RawConfig, where: str = "experiment") -> Experiment:
    """Validate a mapping; every fault of it in one message of one line each."""
    if "systems" in raw:  # a suite: its single experiment is what remains
        if raw.get("phantom") is not None and "source" not in (raw.get("data") or {}):
            raise ConfigError(f"{where} names no folders: `benchmark` and `sweep` draw a phantom; set data.source.")
        raw = {key: value for key, value in raw.items() if key not in SUITE_KEYS}
    try:
        return Experiment.model_validate(rename_keys(raw, where))
    except ValidationError as reason:
        raise ConfigError(f"{where}: {'; '.join(explain(reason, Experiment))}") from None


def resolve_paths(experiment: Experiment, folder: Path) -> Experiment:
    """The same experiment with every relative path made absolute from `folder`."""

    def absolute(entries: tuple[FolderConfig, ...] | None) -> tuple[FolderConfig, ...] | None:
        if entries is None:
            return None
        return tuple(entry.model_copy(update={"path": folder / entry.path.expanduser()}) for entry in entries)

    data = experiment.data
    data = data.model_copy(update={name: absolute(getattr(data, name)) for name in ("source", "target", "test")})
    model = experiment.model
    files: dict[str, Path | None] = {name: getattr(model, name) for name in WEIGHT_FILES}
    model = model.model_copy(update={name: folder / file.expanduser() for name, file in files.items() if file})
    if model.start_from is not None and (folder / model.start_from).is_dir():  # else it is a name
        model = model.model_copy(update={"start_from": str(folder / model.start_from)})
    return experiment.model_copy(update={"data": data, "model": model})


def as_yaml(experiment: Experiment) -> str:
    """The resolved experiment as text, for the run folder."""
    return yaml.safe_dump(experiment.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _override(raw: RawConfig, override: str) -> None:
    """Apply `a.b=c` to a nested mapping; the value is read as YAML, so numbers, lists and `null` work."""
    key, equals, value = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override} is not of the form a.b=c; write for example --set training.lr=0.001.")
    *sections, last = current_key(key).split(".")
    here = raw
    for section in sections:
        inner = here.setdefault(section, {})
        if inner is None:  # `training:` with nothing after it
            inner = here[section] = {}
        if isinstance(inner, str) and section == "method":
            inner = here[section] = {"name": inner}
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {override}: '{section}' is a value, not a section; set it as a whole.")
        here = inner
    here[last] = parse_yaml(value, f"--set {override}: its value", ConfigError, "quote it")
