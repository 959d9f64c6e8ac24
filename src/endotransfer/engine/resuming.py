"""A run may only be resumed as the experiment it began as; how many workers or devices carry it may change."""

from collections.abc import Iterator
from typing import Any

import yaml

from endotransfer.config import Experiment
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, ConfigError

MAY_CHANGE = {
    "data.cache", "training.accelerator", "training.checkpoint_every", "training.devices", "training.log_every",
    "training.nodes", "training.tensorboard", "training.workers",
}  # fmt: skip


def check_same_experiment(run: RunFolder, experiment: Experiment) -> None:
    try:
        before = yaml.safe_load(run.config.read_text())
    except (OSError, yaml.YAMLError) as reason:
        raise CheckpointError(f"{run.config} is damaged ({reason}); start a new run.") from None
    then, now = dict(_leaves(before)), dict(_leaves(experiment.model_dump(mode="json")))
    for place in sorted(then.keys() | now.keys()):
        if place not in MAY_CHANGE and then.get(place) != now.get(place):
            raise ConfigError(
                f"{run.path} was begun with {place} = {then.get(place)} and now it is {now.get(place)}; "
                "resume with the experiment it began with, or start a new run."
            )


def _leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _leaves(value, f"{place}.{key}" if place else key)
    else:
        yield place, tree
