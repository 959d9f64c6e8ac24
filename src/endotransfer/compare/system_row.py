"""A row of a benchmark's table: a method with its settings, under a label."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from endotransfer.config.strict import RawConfig
from endotransfer.errors import ConfigError, shown
from endotransfer.registry import nearest

TEXTS = ("label", "group", "same_as", "name", "preset", "variant")
OWN = ("label", "group", "same_as", "model", "training", "grid")  # everything else of an entry is the method's


@dataclass(frozen=True)
class SystemRow:
    """`method`, `model` and `training` are laid over the suite's sections."""

    label: str
    method: RawConfig  # name, preset, variant and fields, as an experiment has them
    model: RawConfig = field(default_factory=dict)
    training: RawConfig = field(default_factory=dict)
    group: str | None = None  # rows of one group stand together
    same_as: str | None = None  # the row whose runs these are
    grid: dict[str, JsonValue] | None = None  # of a sweep: the point's coordinates

    @property
    def slug(self) -> str:
        """The label as a file name."""
        return file_slug(self.label)


def file_slug(label: str) -> str:
    """A label in the name of a run folder, without what such a name cannot have."""
    return re.sub(r"[^\w.+=,-]+", "-", label).strip("-.") or "row"


def row_of(entry: str | RawConfig, before: Mapping[str, SystemRow]) -> SystemRow:
    """`lta`, `lta/single`, `semantic_transfer/paper/BL+AL`, or a mapping.  `before`: the rows above it, by label."""
    if isinstance(entry, str):
        entry = _from_text(entry)
    for key in TEXTS:
        if not isinstance(entry.get(key), str | None):
            raise ConfigError(f"systems: '{key}' is {shown(entry[key])}; write a name, in quotes if need be.")
    for key in ("model", "training", "grid"):
        if not isinstance(entry.get(key), dict | None):
            raise ConfigError(f"systems: '{key}' is {shown(entry[key])}; write a section such as {{norm: batch}}.")
    if entry.get("same_as") is not None:
        return _same(entry, before)
    if not entry.get("name"):
        raise ConfigError(
            f"systems: {shown(entry)} names no method; add `name: ...` (`endotransfer methods` lists them)."
        )
    return SystemRow(
        label=entry.get("label") or "/".join(filter(None, (entry.get(key) for key in ("name", "preset", "variant")))),
        # A null of the method's own is a value (no teacher); a null name, preset or variant is none.
        method={
            key: value for key, value in entry.items() if key not in OWN and (key not in TEXTS or value is not None)
        },
        model=entry.get("model") or {},
        training=entry.get("training") or {},
        group=entry.get("group"),
        grid=entry.get("grid"),
    )


def _from_text(text: str) -> RawConfig:
    parts = text.split("/", 2)
    if not all(parts):
        raise ConfigError(f"systems: '{text}' is not of the form method, method/preset or method/preset/variant.")
    return dict(zip(("name", "preset", "variant"), parts, strict=False))


def _same(entry: RawConfig, before: Mapping[str, SystemRow]) -> SystemRow:
    label, same_as = entry.get("label"), str(entry["same_as"])
    if not label or set(entry) - {"label", "group", "same_as"}:
        raise ConfigError(f"systems: {entry}: beside `same_as` write a `label` (and a `group`) and nothing else.")
    if same_as not in before:
        raise ConfigError(f"systems: '{label}' is the same as '{same_as}', which no system above it is called; "
                          f"{nearest(same_as, list(before))}")  # fmt: skip
    return replace(before[same_as], label=label, group=entry.get("group"), same_as=same_as)
