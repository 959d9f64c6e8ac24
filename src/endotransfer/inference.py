"""What the network sees of an image when it is measured: at which size, and whole or through a sliding window."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.config import Experiment

Predict = Callable[[Tensor], SegOutput]  # images [B, 3, H, W] in [0, 1] -> output
Side = Annotated[int, Field(ge=1)]
OVERLAP = 1 / 3  # of neighbouring windows, at least
FLIPS: tuple[tuple[int, ...], ...] = ((), (3,), (2,), (2, 3))  # axes of [B, C, H, W] that are turned round


@dataclass(frozen=True)
class InferenceGeometry:
    """`size` (H, W): None means each image's own.  `window` (H, W): None means the whole image at once."""

    size: tuple[Side, Side] | None
    window: tuple[Side, Side] | None = None

    def through(self, predict: Predict) -> Predict:
        """`predict` as it sees images of that size."""
        window = self.window
        if window is None:
            return predict
        return lambda images: SegOutput(slide(predict, images, window), None, images)


def geometry_of(experiment: Experiment) -> InferenceGeometry:
    evaluation = experiment.evaluation
    size = None if evaluation.size == "own" else evaluation.size or experiment.data.shape
    return InferenceGeometry(size, evaluation.window)


def slide(predict: Predict, images: Tensor, window: tuple[int, int]) -> Tensor:
    """Logits [B, K, H, W] at the images' size: at every pixel the mean over the windows that see it."""
    size = images.shape[-2:]
    total: Tensor | None = None
    seen = torch.zeros(size, device=images.device)
    for place in _windows(size, window):
        part = images[(..., *place)]
        logits = predict(part).at(part.shape[-2:]).float()
        if total is None:
            total = logits.new_zeros((*logits.shape[:2], *size))
        total[(..., *place)] += logits
        seen[place] += 1
    assert total is not None
    return total / seen


def starts(length: int, window: int) -> list[int]:
    """Where windows begin along a side: they overlap by a third at least, and the last one ends with the image."""
    if length <= window:
        return [0]
    step = max(1, window - ceil(OVERLAP * window))
    return [*range(0, length - window, step), length - window]


def _windows(size: torch.Size, window: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    for top in starts(size[0], window[0]):
        for left in starts(size[1], window[1]):
            yield slice(top, top + window[0]), slice(left, left + window[1])
