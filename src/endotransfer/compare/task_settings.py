"""The settings that runs were trained with, flat, and where they differ: nobody shall compare 400 steps with 800
unknowingly."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from endotransfer.config import WEIGHT_FILES, Experiment, ModelConfig
from endotransfer.config.strict import RawConfig
from endotransfer.engine.resuming import MAY_CHANGE, leaves
from endotransfer.methods import method_config
from endotransfer.methods.resolve import resolved

Flat = dict[str, JsonValue]  # `training.epochs` -> 10
APART = ("name", "seed", "method")  # what a run is called, drawn with, and what it compares
BACKBONE = "model.backbone"
ABSENT = "default"  # of a setting whose default has no fixed value


def task_settings(experiment: Experiment) -> Flat:
    """Data, model, training and evaluation, as far as they are not the default, or that of the backbone's family.

    Of a path only the last name counts, and what merely carries a run (workers, devices) does not count.
    """
    written = _flat(experiment.model_dump(mode="json", exclude_defaults=True, exclude={*APART}))
    usual = defaults_with(experiment.model.backbone)
    return {place: value for place, value in written.items() if place not in usual or usual[place] != value}


def method_settings(experiment: Experiment) -> Flat:
    """Name and checked values of the method, as far as they are not the default; presets are their values."""
    cls, _, config = method_config(experiment.method)
    named = {"name": cls.name, "revision": cls.revision}
    return _flat({"method": named | config.model_dump(mode="json", exclude_defaults=True)})


def _flat(tree: RawConfig) -> Flat:
    for role in ("source", "target", "test"):
        for folder in tree.get("data", {}).get(role) or ():
            folder["path"] = Path(folder["path"]).name
    for name in WEIGHT_FILES:
        if tree.get("model", {}).get(name):
            tree["model"][name] = Path(tree["model"][name]).name
    return {place: cast(JsonValue, value) for place, value in leaves(tree) if place not in MAY_CHANGE}


@cache
def defaults_with(backbone: str) -> Flat:
    """What an experiment has that says nothing but its data and its backbone."""
    experiment = resolved(Experiment.model_validate({"data": {"source": "x"}, "model": {"backbone": backbone}}))
    tree = experiment.model_dump(mode="json", exclude={*APART})
    return {place: value for place, value in _flat(tree).items() if place not in ("data.source", "model.backbone")}


def value_of(settings: Mapping[str, JsonValue], place: str) -> JsonValue:
    backbone = str(settings.get(BACKBONE, ModelConfig().backbone))
    return backbone if place == BACKBONE else settings.get(place, defaults_with(backbone).get(place, ABSENT))


def odd_settings(rows: Mapping[str, Sequence[Flat]]) -> dict[str, dict[str, list[JsonValue]]]:
    """Row -> setting -> [own value, that of most rows], where they differ.  `rows`: the settings of each row's runs.

    A row whose runs disagree among themselves has the first value that most rows do not have.
    """
    odd: dict[str, dict[str, list[JsonValue]]] = {}
    for place in places_of(run for runs in rows.values() for run in runs):
        own = {label: [value_of(run, place) for run in runs] for label, runs in rows.items() if runs}
        usual = _most_common([values[0] for values in own.values()])
        for label, values in own.items():
            if other := [value for value in values if value != usual]:
                odd.setdefault(label, {})[place] = [other[0], usual]
    return odd


def differing(first: Sequence[Flat], second: Sequence[Flat]) -> dict[str, list[list[JsonValue]]]:
    """Setting -> the values of both sides, where not all runs of both have one."""
    found = {}
    for place in places_of([*first, *second]):
        sides = [_distinct(value_of(run, place) for run in side) for side in (first, second)]
        if sides[0] != sides[1] or len(sides[0]) > 1:
            found[place] = sides
    return found


def places_of(runs: Iterable[Flat]) -> list[str]:
    return list(dict.fromkeys(place for run in runs for place in run))


def _distinct(values: Iterable[JsonValue]) -> list[JsonValue]:
    """In order, each once; they may be lists, which cannot be members of a set."""
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())


def _most_common(values: Sequence[JsonValue]) -> JsonValue:
    """The first of the most frequent."""
    written = [json.dumps(value, sort_keys=True) for value in values]
    return values[written.index(Counter(written).most_common(1)[0][0])]
