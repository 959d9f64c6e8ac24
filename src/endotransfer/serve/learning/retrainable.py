"""The experiment behind the model that is served, if it can be run again with what people reviewed here."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from endotransfer.config import Experiment, read_experiment
from endotransfer.data.folders.domain import distinct_names
from endotransfer.data.folders.reviewed_targets import reviewed_samples
from endotransfer.engine.experiment_data import read_role
from endotransfer.errors import EndotransferError
from endotransfer.samples import Sample
from endotransfer.serve.answers import Refusal
from endotransfer.serve.learning.sentences import without_paths

CONFIG = "config.yaml"


@dataclass(frozen=True)
class Retrainable:
    """`target`: the target's training images, whose reviews count; `test`: images that the run is measured on."""

    run: Path
    experiment: Experiment
    target: list[Sample]
    test: frozenset[Path]

    def reviewed(self) -> list[Sample]:
        """The training images with a mask that a person confirmed; none that was drawn for measuring."""
        return reviewed_samples(self.target)

    @cached_property
    def trainable(self) -> frozenset[Path]:
        """Images whose reviews would be trained on."""
        return frozenset(sample.image.resolve() for sample in self.target) - self.test


def open_retrainable(run: Path, folder: Path) -> Retrainable:
    """Refused, with the reason, where the reviews of `folder` could not be trained on."""
    if not (run / CONFIG).is_file():
        raise _cannot("this model is served without its run, so its experiment is not known; serve the run folder.")
    try:
        experiment = read_experiment(run / CONFIG)
        target, test = _read_roles(experiment)
    except EndotransferError as reason:
        raise _cannot(without_paths(str(reason))) from None
    if folder.resolve() not in {one.path.resolve() for one in experiment.data.target}:
        raise _cannot("this folder is no target of the run's experiment, so its reviews would not be trained on.")
    if not (run / "results.json").is_file():
        raise _cannot("the run is not finished, so there is nothing to compare with; finish it with --resume.")
    return Retrainable(run, experiment, target, frozenset(sample.image.resolve() for sample in test))


def _read_roles(experiment: Experiment) -> tuple[list[Sample], list[Sample]]:
    """The target's training images and the test images, as training divides them."""
    data = experiment.data
    names = distinct_names(folder.path for folder in (*data.source, *data.target, *(data.test or ())))
    undivided = tuple(folder.model_copy(update={"split": None}) for folder in data.target)
    target = read_role(data.target, "train", names, classes=data.classes)
    tested = undivided if data.test is None else data.test
    test = read_role(tested, "test", names, strict=data.test is None, classes=data.classes)
    return target.samples if target else [], test.samples if test else []


def _cannot(reason: str) -> Refusal:
    return Refusal(409, "cannot-retrain", reason)
