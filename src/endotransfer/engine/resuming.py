"""A run may only be resumed as the experiment it began as; how many workers or devices carry it may change."""

from collections.abc import Iterator

from endotransfer.config import Experiment
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, ConfigError, shown
from endotransfer.io import read_yaml

MAY_CHANGE = {
    "data.cache", "training.accelerator", "training.checkpoint_every", "training.devices", "training.log_every",
    "training.graphs", "training.loggers", "training.nodes", "training.tensorboard", "training.workers",
}  # fmt: skip


def check_same_experiment(run: RunFolder, experiment: Experiment) -> None:
    then, now = dict(leaves(_read(run))), dict(leaves(experiment.model_dump(mode="json")))
    for place in sorted(then.keys() | now.keys()):
        if place not in MAY_CHANGE and then.get(place) != now.get(place):
            raise ConfigError(
                f"{run.path} was begun with {place} = {_told(then.get(place))} and now it is {_told(now.get(place))}; "
                "resume with the experiment it began with, or start a new run."
            )


def _read(run: RunFolder) -> dict[str, object]:
    try:
        before = read_yaml(run.config, CheckpointError, "start a new run")
    except FileNotFoundError:
        raise CheckpointError(f"{run.config} is missing; start a new run.") from None
    if not isinstance(before, dict):
        raise CheckpointError(f"{run.config} is damaged (it holds no experiment); start a new run.")
    return before


def _told(value: object) -> str:
    return value if isinstance(value, str) and len(value) < 200 else shown(value)


def leaves(tree: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Every value of a nested mapping with its place in it, such as `training.lr`."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{place}.{key}" if place else str(key))
    else:
        yield place, tree
