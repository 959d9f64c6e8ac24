"""Evaluation in one pass over the test images: read, infer, score, all at the size of each image's own mask."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import LESION, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.distributed import gather_texts, rank, world_size
from endotransfer.engine.evaluation_images import READERS, EvaluationImage, read_batches
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
from endotransfer.metrics.counts import Counts, confusion
from endotransfer.metrics.pixel_calibration import PixelCalibration, levels_of
from endotransfer.metrics.pranet import PraNetScores


@dataclass(frozen=True)
class InferredImage:
    """What the network predicts for one test image, at the image's own size."""

    image: EvaluationImage
    probabilities: Tensor  # [K, H, W], where it was computed
    mask: Tensor  # uint8 [H, W]
    peak: float  # the highest lesion probability
    tag_probability: float | None
    student: Tensor | None  # the student's mask, uint8 [H, W]
    levels: Tensor | None  # int16 [2, H, W] as `levels_of`, where there is ground truth


@dataclass(frozen=True)
class Measurements:
    """All that is counted.  `protocol`: the figures of the PraNet protocol, on request."""

    scores: Scores
    agreement: TagAgreement
    calibration: PixelCalibration
    protocol: PraNetScores | None

    def add(self, found: Sequence[InferredImage], counted: Iterable["Counted"]) -> None:
        """Take in a batch and what the threads counted of it, image by image: some of it depends on the order."""
        for one, of_one in zip(found, counted, strict=True):
            sample, truth = one.image.sample, one.image.truth
            if of_one.calibration is not None:
                self.calibration.add(of_one.calibration)
            if truth is not None and self.protocol is not None:
                self.protocol.update(one.probabilities[1:].sum(0).cpu().numpy(), truth, sample.key)
            if self.scores.lesions and sample.tag != UNKNOWN_TAG:
                self.agreement.add(sample.tag, one.peak, of_one.mask, one.tag_probability, of_one.student)

    def count(self, found: InferredImage) -> "Counted":
        """Count one image's pixels, where they are.  Runs in a thread: what adds up is returned instead of added."""
        sample, truth = found.image.sample, found.image.truth
        mask, calibration = _on_host(found.mask), None
        if truth is not None and found.levels is not None:
            there = torch.tensor(truth).to(found.mask.device)  # a copy: masks may be read-only
            matrix = confusion(found.mask, there, len(self.scores.classes), sample.key)
            self.scores.update(
                mask, truth, key=sample.key, group=sample.group, finding=sample.finding, tag=sample.tag,
                lesion_probability=found.tag_probability, matrix=matrix,
            )  # fmt: skip
            calibration = PixelCalibration.count(found.levels, found.mask, there)
        return Counted(mask, None if found.student is None else _on_host(found.student), calibration)


@dataclass(frozen=True)
class Counted:
    """Of one image: both masks [H, W] at hand, and what it adds to the calibration, where there is ground truth."""

    mask: NDArray[np.uint8]
    student: NDArray[np.uint8] | None
    calibration: Counts | None


@torch.inference_mode()
def evaluate_samples(
    forward: Forward, samples: Sequence[Sample], classes: Classes, shape: tuple[int, int] | InferenceGeometry,
    device: torch.device, *, batch: int = 16, dtype: torch.dtype = torch.float32, student: Forward | None = None,
    lesions: bool = True, pranet: bool = False, flips: bool = False, shared: bool = False,
    progress: Callable[[int], None] | None = None, keep_contradictions: bool = True,
    decode_cache: DecodeCache | None = None,
) -> tuple[Scores, dict[str, Any]]:  # fmt: skip
    """Score every image that has a mask; compare with the tag of every image that has one.

    `shape` (H, W): the network's input size, or an `InferenceGeometry`.  `lesions`: class 0 is normal tissue.
    `student` beside the predicting teacher adds how far the two agree.  `pranet` adds the figures of that protocol.
    `flips`: mean probabilities over four mirror images, as `predict --flips`; the student stays as it is.
    `shared`: all processes call this with the same samples; each takes its part, and all return the same.
    `decode_cache`: test images that other runs of this process have read already.
    `keep_contradictions`: False where nobody has compared tags with masks yet; the first that differ are an error.
    """
    geometry = shape if isinstance(shape, InferenceGeometry) else InferenceGeometry(shape)
    forward, student = geometry.wrap(forward), geometry.wrap(student) if student and lesions else None
    shared = shared and not pranet  # that protocol's sums stay in one process
    own = samples[rank() :: world_size()] if shared else samples
    protocol = PraNetScores() if pranet and lesions else None
    measured = Measurements(Scores(classes.names, lesions), TagAgreement(), PixelCalibration(lesions), protocol)
    waiting: tuple[Sequence[InferredImage], Iterator[Counted]] | None = None
    with ThreadPoolExecutor(READERS) as counters:
        batches = read_batches(
            own, classes, geometry.size, batch, keep_contradictions=keep_contradictions, cache=decode_cache
        )
        for images in batches:
            found = _infer(images, forward, student, device, dtype, flips=flips)
            before, waiting = waiting, (found, counters.map(measured.count, found))  # while the network goes on
            if before is not None:
                measured.add(*before)
            if progress is not None:
                progress(len(images))
        if waiting is not None:
            measured.add(*waiting)
    measured = _gathered(measured, device) if shared else measured
    scores, calibration = measured.scores, measured.calibration.summary()
    if lesions and _only_normal_is_drawn(samples, scores):
        # an IoU over normal images alone would say nothing of lesions
        scores, calibration = Scores(classes.names, lesions), None
    figures = {"pranet": protocol.summary() if protocol is not None else None} if pranet else {}
    return scores, measured.agreement.figures() | ({"calibration": calibration} if calibration else {}) | figures


def _infer(
    images: Sequence[EvaluationImage], forward: Forward, student: Forward | None, device: torch.device,
    dtype: torch.dtype, *, flips: bool,
) -> list[InferredImage]:  # fmt: skip
    """One image after the other, since maps at their own size may be large; a GPU is waited for once a batch."""
    inputs = to_batch([image.input for image in images], device, dtype)
    outputs = forward_views(forward, inputs, flips=flips)
    chances = tag_probabilities(outputs, len(images))
    second = student(inputs) if student is not None else None
    maps = [mean_probabilities(outputs, index, image.size) for index, image in enumerate(images)]
    masks, levels = zip(*map(_mask_and_levels, images, maps), strict=True)
    tagged = [image.sample.tag != UNKNOWN_TAG for image in images]
    students = [
        _argmax(logits_at(second, index, image.size)) if second is not None and tagged[index] else None
        for index, image in enumerate(images)
    ]
    peaks = torch.stack([1 - one[0].min() for one in maps]).tolist()
    return [
        InferredImage(image, probabilities, mask, peak, chance, other, steps)
        for image, probabilities, mask, peak, chance, other, steps in zip(
            images, maps, masks, peaks, chances, students, levels, strict=True
        )
    ]  # fmt: skip


def _mask_and_levels(image: EvaluationImage, probabilities: Tensor) -> tuple[Tensor, Tensor | None]:
    """uint8 [H, W] and, where there is ground truth, int16 [2, H, W] of `levels_of`: small, since they travel."""
    best, mask = probabilities.max(0)
    return mask.to(torch.uint8), levels_of(probabilities, best) if image.truth is not None else None


def _argmax(values: Tensor) -> Tensor:
    """[K, H, W] -> uint8 [H, W], as `argmax`, which takes seven times as long on a CPU."""
    return values.max(0).indices.to(torch.uint8)


def _on_host(mask: Tensor) -> NDArray[np.uint8]:
    return np.asarray(mask.cpu().numpy(), dtype=np.uint8)


def _gathered(measured: Measurements, device: torch.device) -> Measurements:
    """The measurements of all processes, the same in each."""
    empty = measured.scores
    counts = measured.calibration.counts.tolist()
    own = json.dumps({"rows": empty.rows(), "agreement": vars(measured.agreement), "calibration": counts})
    scores, agreement = Scores(empty.classes, empty.lesions), TagAgreement()
    calibration = PixelCalibration(empty.lesions)
    for part in map(json.loads, gather_texts(own, device)):
        scores.merge(Scores.from_rows(empty.classes, part["rows"], empty.lesions))
        agreement.merge(part["agreement"])
        calibration.add(np.array(part["calibration"], np.int64))
    return Measurements(scores, agreement, calibration, measured.protocol)


def _only_normal_is_drawn(samples: Sequence[Sample], scores: Scores) -> bool:
    """Whether lesions are known by tags alone, and masks exist for normal images only."""
    undrawn = any(sample.tag == LESION and sample.mask is None for sample in samples)
    return undrawn and not scores.matrices()[:, 1:].any()
