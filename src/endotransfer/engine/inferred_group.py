"""What the network predicts for test images of one size, counted where it was computed.

On a GPU many small maps are one large map: it is asked once for all of a batch, and waited for by the thread that
counts.  On a processor groups are single images, whose maps stay in its cache.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import UNKNOWN_TAG, SegOutput
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.engine.evaluation_images import EvaluationImage
from endotransfer.inference import are_finite, logits_of, mean_probabilities_of, require_finite, tag_probabilities
from endotransfer.metrics.counts import Counts, confusions
from endotransfer.metrics.pixel_calibration import PixelCalibration, levels_of

MOST_VALUES = {"cuda": 2**27, "cpu": 1}  # of probabilities in a group, half a GB; one image at least


class CountedGroup(NamedTuple):
    """On the host.  `matrices` [N, K, K] and `calibration`: None where there is no ground truth."""

    masks: NDArray[np.uint8]  # [N, H, W]
    chances: Sequence[float | None]  # the tag head's
    peaks: list[float]  # the highest lesion probability of each image
    students: NDArray[np.uint8] | None  # the student's masks
    matrices: Counts | None
    calibration: Counts | None  # of all images together


@dataclass(frozen=True)
class InferredGroup:
    """N images of one size [H, W], all of them with ground truth or none; everything where it was computed."""

    images: Sequence[EvaluationImage]
    finite: Tensor  # whether all outputs of the batch are
    chances: Tensor | None  # the tag head's [N]
    probabilities: Tensor | None  # [N, K, H, W], where somebody asks for more than counts
    masks: Tensor  # uint8 [N, H, W]
    peaks: Tensor  # [N]
    students: Tensor | None  # uint8 [N, H, W]
    truths: Tensor | None  # uint8 [N, H, W]
    levels: Tensor | None  # int16 [2, N, H, W] as `levels_of`

    def count(self, classes: int) -> CountedGroup:
        """In any thread: it is the one that waits.  CheckpointError where the network's output is not finite."""
        require_finite(HostCopy(self.finite).get())
        masks, peaks = HostCopy(self.masks), HostCopy(self.peaks)
        chances = HostCopy(self.chances) if self.chances is not None else None
        students = HostCopy(self.students) if self.students is not None else None
        matrices = calibration = None
        if self.truths is not None and self.levels is not None:
            matrices = confusions(self.masks, self.truths, classes, [image.sample.key for image in self.images])
            calibration = PixelCalibration.count(self.levels, self.masks, self.truths)
        return CountedGroup(
            masks.get().numpy(), [None] * len(self.images) if chances is None else chances.get().tolist(),
            peaks.get().tolist(), None if students is None else students.get().numpy(),
            matrices, calibration,
        )  # fmt: skip


def infer_groups(
    images: Sequence[EvaluationImage], outputs: Sequence[SegOutput], student: SegOutput | None,
    *, keep_probabilities: bool = False,
) -> Iterator[InferredGroup]:  # fmt: skip
    """A batch in groups, in its order.  `outputs` of `forward_views`; `student`: the student's output."""
    finite, chances = are_finite(outputs), tag_probabilities(outputs)
    for part in _alike(images, outputs[0].logits):
        some, size = images[part], images[part.start].size
        tagged = any(image.sample.tag != UNKNOWN_TAG for image in some)
        probabilities = mean_probabilities_of(outputs, part, size)
        best, masks = probabilities.max(1)
        truths = _together(some, probabilities.device)
        yield InferredGroup(
            some, finite, None if chances is None else chances[part],
            probabilities if keep_probabilities else None,
            masks.to(torch.uint8),
            1 - probabilities[:, 0].amin((1, 2)),
            # `max`, since argmax takes seven times as long on a CPU
            logits_of(student, part, size).max(1).indices.to(torch.uint8) if student and tagged else None,
            truths,
            levels_of(probabilities, best) if truths is not None else None,
        )  # fmt: skip


def _alike(images: Sequence[EvaluationImage], logits: Tensor) -> Iterator[slice]:
    """Neighbours of one size, with ground truth or without, as many as memory should hold."""
    start = 0
    for (size, _), run in groupby(images, key=lambda image: (image.size, image.truth is None)):
        stop = start + len(list(run))
        most = max(1, MOST_VALUES.get(logits.device.type, 1) // (logits.shape[1] * size[0] * size[1]))
        yield from (slice(first, min(first + most, stop)) for first in range(start, stop, most))
        start = stop


def _together(images: Sequence[EvaluationImage], device: torch.device) -> Tensor | None:
    """The ground truth of all, uint8 [N, H, W]."""
    truths = [image.truth for image in images if image.truth is not None]
    if not truths:
        return None
    stacked = torch.from_numpy(np.stack(truths))
    return stacked.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else stacked
