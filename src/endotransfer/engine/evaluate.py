"""Evaluation in one pass over the test images: read, infer, score, all at the size of each image's own mask."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from endotransfer.batch import LESION, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.distributed import gather_texts, rank, world_size
from endotransfer.engine.evaluation_images import READERS, read_batches
from endotransfer.engine.inferred_batch import InferredBatch, InferredImage, infer_batch
from endotransfer.engine.tag_agreement import TagAgreement
from endotransfer.inference import Forward, InferenceGeometry, to_batch
from endotransfer.metrics import Scores
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.pixel_calibration import PixelCalibration
from endotransfer.metrics.pranet import PraNetScores


@dataclass(frozen=True)
class Measurements:
    """All that is counted.  `protocol`: the figures of the PraNet protocol, on request."""

    scores: Scores
    agreement: TagAgreement
    calibration: PixelCalibration
    protocol: PraNetScores | None

    def add(self, found: Sequence[InferredImage], pool: Executor) -> None:
        """Take in a batch.  Pixels are counted in the threads of `pool`, whatever depends on the order here."""
        for counts in pool.map(self._score, found):
            if counts is not None:
                self.calibration.add(counts)
        for one in found:
            sample, truth = one.image.sample, one.image.truth
            if truth is not None and self.protocol is not None and one.probabilities is not None:
                self.protocol.update(one.probabilities[1:].sum(0).cpu().numpy(), truth, sample.key)
            if self.scores.lesions and sample.tag != UNKNOWN_TAG:
                self.agreement.add(sample.tag, one.peak, one.mask, one.tag_probability, one.student)

    def _score(self, found: InferredImage) -> Counts | None:
        """Runs in a thread, so what adds up over images is returned instead of added."""
        sample, truth = found.image.sample, found.image.truth
        if truth is None or found.levels is None:
            return None
        self.scores.update(
            found.mask, truth, key=sample.key, group=sample.group, finding=sample.finding, tag=sample.tag,
            lesion_probability=found.tag_probability,
        )  # fmt: skip
        return PixelCalibration.count(found.levels, found.mask, truth)


@torch.inference_mode()
def evaluate_samples(
    forward: Forward, samples: Sequence[Sample], classes: Classes, shape: tuple[int, int] | InferenceGeometry,
    device: torch.device, *, batch: int = 16, dtype: torch.dtype = torch.float32, student: Forward | None = None,
    lesions: bool = True, pranet: bool = False, flips: bool = False, shared: bool = False,
    progress: Callable[[int], None] | None = None, keep_contradictions: bool = True,
) -> tuple[Scores, dict[str, Any]]:  # fmt: skip
    """Score every image that has a mask; compare with the tag of every image that has one.

    `shape` (H, W): the network's input size, or an `InferenceGeometry`.  `lesions`: class 0 is normal tissue.
    `student` beside the predicting teacher adds how far the two agree.  `pranet` adds the figures of that protocol.
    `flips`: mean probabilities over four mirror images, as `predict --flips`; the student stays as it is.
    `shared`: all processes call this with the same samples; each takes its part, and all return the same.
    `keep_contradictions`: False where nobody has compared tags with masks yet; the first that differ are an error.
    """
    geometry = shape if isinstance(shape, InferenceGeometry) else InferenceGeometry(shape)
    forward, student = geometry.wrap(forward), geometry.wrap(student) if student and lesions else None
    shared = shared and not pranet  # that protocol's sums stay in one process
    own = samples[rank() :: world_size()] if shared else samples
    protocol = PraNetScores() if pranet and lesions else None
    measured = Measurements(Scores(classes.names, lesions), TagAgreement(), PixelCalibration(lesions), protocol)
    start = partial(infer_batch, forward=forward, student=student, flips=flips, keep_probabilities=protocol is not None)
    started: deque[InferredBatch] = deque()  # a GPU works on one batch while the one before it is counted

    with ThreadPoolExecutor(READERS) as counters:

        def finish(unfinished: int) -> None:
            while len(started) > unfinished:
                found = started.popleft().images()
                measured.add(found, counters)
                if progress is not None:
                    progress(len(found))

        for images in read_batches(own, classes, geometry.size, batch, keep_contradictions=keep_contradictions):
            started.append(start(to_batch([image.input for image in images], device, dtype), images))
            finish(1)
        finish(0)
    measured = _gathered(measured, device) if shared else measured
    scores, calibration = measured.scores, measured.calibration.summary()
    if lesions and _only_normal_is_drawn(samples, scores):
        # an IoU over normal images alone would say nothing of lesions
        scores, calibration = Scores(classes.names, lesions), None
    figures = {"pranet": protocol.summary() if protocol is not None else None} if pranet else {}
    return scores, measured.agreement.figures() | ({"calibration": calibration} if calibration else {}) | figures


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
