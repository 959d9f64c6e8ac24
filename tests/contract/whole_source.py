"""The labelled source of a tiny task as one batch, for tests that look at where a map is right."""

from collections.abc import Iterator
from typing import Any

import torch
from rich.console import Console
from torch import Tensor

from endotransfer.batch import SourceBatch
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.source_set import WholeSource
from endotransfer.engine.training_data import load_training_data
from endotransfer.methods.base import METHODS


def whole_source(make_experiment: Any, name: str) -> SourceBatch:
    """Every source image with a mask, unaugmented, as `prepare` sees them."""
    experiment = make_experiment("tagged", name)
    needs = METHODS.get(name).needs
    experiment_data = load_data(experiment.data, needs)
    masked = load_training_data(experiment, experiment_data, needs, lambda *_: None, console=Console(quiet=True)).masked
    (only,) = WholeSource(masked, len(experiment_data.masked), True, torch.device("cpu"), torch.float32)
    return only


class OneBatch:
    """A source set that is a single batch, for methods whose `prepare` asks for nothing but images and masks."""

    def __init__(self, batch: SourceBatch) -> None:
        self.batch = batch

    def __iter__(self) -> Iterator[SourceBatch]:
        yield self.batch

    def __len__(self) -> int:
        return len(self.batch.images)

    def superpixels(self, keys: list[str]) -> Tensor:
        raise NotImplementedError


def share_ranked_right(scores: Tensor, truth: Tensor) -> float:
    """How often a true element scores above a false one (the area under the ROC curve); chance is one half."""
    return (scores[truth][:, None] > scores[~truth][None]).double().mean().item()
