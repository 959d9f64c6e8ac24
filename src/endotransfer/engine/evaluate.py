"""Evaluation in one pass over the test images: read, infer, score, all at the size of each image's own mask."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from endotransfer.batch import LESION, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.distributed import gather_texts, rank, world_size
from endotransfer.engine.evaluation_images import EvaluationImage, read_batches
from endotransfer.engine.tag_agreement import TagAgreement
from endotransfer.inference import (
    Forward,
    InferenceGeometry,
    forward_views,
    logits_at,
    mean_probabilities,
    tag_probabilities,
    to_batch,
)
from endotransfer.metrics import Scores
from endotransfer.metrics.pranet import PraNetScores


@dataclass(frozen=True)
class InferredImage:
    """What the network predicts for one test image, at the image's own size."""

    image: EvaluationImage
    probabilities: Tensor  # [K, H, W]
    mask: Tensor  # [H, W]
    tag_probability: float | None
    student: Tensor | None  # the student's mask [H, W]


@dataclass(frozen=True)
class Measurements:
    """All that is counted.  `protocol`: the figures of the PraNet protocol, on request."""

    scores: Scores
    agreement: TagAgreement
    protocol: PraNetScores | None

    def add(self, found: InferredImage) -> None:
        sample, truth = found.image.sample, found.image.truth
        if truth is not None:
            self.scores.update(
                found.mask.cpu(), torch.from_numpy(truth), key=sample.key, group=sample.group,
                finding=sample.finding, tag=sample.tag, lesion_probability=found.tag_probability,
            )  # fmt: skip
            if self.protocol is not None:
                self.protocol.update(found.probabilities[1:].sum(0).cpu().numpy(), truth, sample.key)
        if self.scores.lesions and sample.tag != UNKNOWN_TAG:
            self.agreement.add(sample.tag, found.probabilities, found.mask, found.tag_probability, found.student)


@torch.inference_mode()
def evaluate_samples(
    forward: Forward, samples: Sequence[Sample], classes: Classes, shape: tuple[int, int] | InferenceGeometry,
    device: torch.device, *, batch: int = 16, dtype: torch.dtype = torch.float32, student: Forward | None = None,
    lesions: bool = True, pranet: bool = False, flips: bool = False, shared: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[Scores, dict[str, Any]]:  # fmt: skip
    """Score every image that has a mask; compare with the tag of every image that has one.

    `shape` (H, W): the network's input size, or an `InferenceGeometry`.  `lesions`: class 0 is normal tissue.
    `student` beside the predicting teacher adds how far the two agree.  `pranet` adds the figures of that protocol.
    `flips`: mean probabilities over four mirror images, as `predict --flips`; the student stays as it is.
    `shared`: all processes call this with the same samples; each takes its part, and all return the same.
    """
    geometry = shape if isinstance(shape, InferenceGeometry) else InferenceGeometry(shape)
    forward, student = geometry.wrap(forward), geometry.wrap(student) if student and lesions else None
    shared = shared and not pranet  # that protocol's sums stay in one process
    own = samples[rank() :: world_size()] if shared else samples
    protocol = PraNetScores() if pranet and lesions else None
    measured = Measurements(Scores(classes.names, lesions), TagAgreement(), protocol)
    for images in read_batches(own, classes, geometry.size, batch):
        for found in _infer(images, forward, student, device, dtype, flips=flips):
            measured.add(found)
        if progress is not None:
            progress(len(images))
    scores, agreement = _gathered(measured, device) if shared else (measured.scores, measured.agreement)
    if lesions and _only_normal_is_drawn(samples, scores):
        scores = Scores(classes.names, lesions)  # an IoU over normal images alone would say nothing of lesions
    figures = {"pranet": protocol.summary() if protocol is not None else None} if pranet else {}
    return scores, agreement.figures() | figures


def _infer(
    images: Sequence[EvaluationImage], forward: Forward, student: Forward | None, device: torch.device,
    dtype: torch.dtype, *, flips: bool,
) -> Iterator[InferredImage]:  # fmt: skip
    """One image after the other: maps at their own size may be large."""
    inputs = to_batch([image.input for image in images], device, dtype)
    outputs = forward_views(forward, inputs, flips=flips)
    chances = tag_probabilities(outputs, len(images))
    second = student(inputs) if student is not None else None
    for index, image in enumerate(images):
        probabilities = mean_probabilities(outputs, index, image.size)
        mask = _argmax(probabilities)
        tagged = image.sample.tag != UNKNOWN_TAG
        other = _argmax(logits_at(second, index, image.size)) if second is not None and tagged else None
        yield InferredImage(image, probabilities, mask, chances[index], other)


def _argmax(values: Tensor) -> Tensor:
    """[K, H, W] -> [H, W], as `argmax`, which takes seven times as long on a CPU."""
    return values.max(0).indices


def _gathered(measured: Measurements, device: torch.device) -> tuple[Scores, TagAgreement]:
    """The measurements of all processes, the same in each."""
    empty = measured.scores
    own = json.dumps({"rows": empty.rows(), "agreement": vars(measured.agreement)})
    scores, agreement = Scores(empty.classes, empty.lesions), TagAgreement()
    for part in map(json.loads, gather_texts(own, device)):
        scores.merge(Scores.from_rows(empty.classes, part["rows"], empty.lesions))
        agreement.merge(part["agreement"])
    return scores, agreement


def _only_normal_is_drawn(samples: Sequence[Sample], scores: Scores) -> bool:
    """Whether lesions are known by tags alone, and masks exist for normal images only."""
    undrawn = any(sample.tag == LESION and sample.mask is None for sample in samples)
    return undrawn and not scores.matrices()[:, 1:].any()
