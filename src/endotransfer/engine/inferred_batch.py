"""What the network predicts for a batch of test images, on its way to the host while the next batch is computed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import UNKNOWN_TAG
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.engine.evaluation_images import EvaluationImage
from endotransfer.inference import (
    Forward,
    all_finite,
    logits_at,
    mean_probabilities,
    require_finite,
    tag_chances,
    unchecked_views,
)
from endotransfer.metrics.pixel_calibration import levels_of


@dataclass(frozen=True)
class InferredImage:
    """What the network predicts for one test image, at the image's own size."""

    image: EvaluationImage
    probabilities: Tensor | None  # [K, H, W], where it was computed; only on request
    mask: NDArray[np.uint8]  # [H, W]
    peak: float  # the highest lesion probability
    tag_probability: float | None
    student: NDArray[np.uint8] | None  # the student's mask [H, W]
    levels: NDArray[np.int16] | None  # [2, H, W] as `levels_of`, where there is ground truth


@dataclass(frozen=True)
class _Travelling:
    """The maps of one image."""

    image: EvaluationImage
    probabilities: Tensor | None
    mask: HostCopy
    student: HostCopy | None
    levels: HostCopy | None


class InferredBatch:
    """A batch that a GPU may still be working on; `images` waits for it."""

    def __init__(self, maps: list[_Travelling], finite: HostCopy, peaks: HostCopy, chances: HostCopy | None) -> None:
        self._maps, self._finite, self._peaks, self._chances = maps, finite, peaks, chances

    def images(self) -> list[InferredImage]:
        """CheckpointError where the network gave something that is no number."""
        require_finite(bool(self._finite.get()))
        count = len(self._maps)
        chances = [None] * count if self._chances is None else self._chances.get().tolist()
        return [
            InferredImage(
                one.image, one.probabilities, one.mask.get().numpy(), peak, chance,
                None if one.student is None else one.student.get().numpy(),
                None if one.levels is None else one.levels.get().numpy(),
            )
            for one, peak, chance in zip(self._maps, self._peaks.get().tolist(), chances, strict=True)
        ]  # fmt: skip


def infer_batch(
    inputs: Tensor, images: Sequence[EvaluationImage], *, forward: Forward, student: Forward | None, flips: bool,
    keep_probabilities: bool,
) -> InferredBatch:  # fmt: skip
    """`inputs` [B, 3, h, w] of `images` through the network.

    One image after the other behind it, since maps at their own size may be large; the host waits for nothing.
    """
    outputs = unchecked_views(forward, inputs, flips=flips)
    second = student(inputs) if student is not None else None
    maps, peaks = [], []
    for index, image in enumerate(images):
        probabilities = mean_probabilities(outputs, index, image.size)
        best, mask = probabilities.max(0)
        tagged = second is not None and image.sample.tag != UNKNOWN_TAG
        maps.append(
            _Travelling(
                image,
                probabilities if keep_probabilities else None,
                HostCopy(mask.to(torch.uint8)),
                HostCopy(_argmax(logits_at(second, index, image.size))) if tagged and second is not None else None,
                HostCopy(levels_of(probabilities, best)) if image.truth is not None else None,
            )
        )
        peaks.append(1 - probabilities[0].min())
    chances = tag_chances(outputs)
    return InferredBatch(
        maps,
        HostCopy(all_finite(outputs)),
        HostCopy(torch.stack(peaks)),
        None if chances is None else HostCopy(chances),
    )


def _argmax(values: Tensor) -> Tensor:
    """[K, H, W] -> uint8 [H, W], as `argmax`, which takes seven times as long on a CPU."""
    return values.max(0).indices.to(torch.uint8)
