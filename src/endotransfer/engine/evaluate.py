"""Evaluation in one pass over the test images: read, infer, score, all at the size of each image's own mask."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from endotransfer.batch import LESION, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.distributed import rank, world_size
from endotransfer.engine.counters import Counters
from endotransfer.engine.evaluation_images import READERS, EvaluationImage, read_batches
from endotransfer.engine.inferred_group import InferredGroup, infer_groups
from endotransfer.engine.measurements import Measurements, gathered
from endotransfer.engine.tag_agreement import TagAgreement
from endotransfer.inference import Forward, InferenceGeometry, forward_views, to_batch
from endotransfer.metrics import Scores
from endotransfer.metrics.pixel_calibration import PixelCalibration
from endotransfer.metrics.pranet import PraNetScores


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
    with ThreadPoolExecutor(READERS) as threads:
        counters = Counters(threads, measured)
        batches = read_batches(
            own, classes, geometry.size, batch, keep_contradictions=keep_contradictions, cache=decode_cache
        )
        for images in batches:
            counters.take(_infer(images, forward, student, device, dtype, flips=flips, keep=protocol is not None))
            if progress is not None:
                progress(len(images))
        counters.finish()
    measured = gathered(measured, device) if shared else measured
    scores, calibration = measured.scores, measured.calibration.summary()
    if lesions and _only_normal_is_drawn(samples, scores):
        # an IoU over normal images alone would say nothing of lesions
        scores, calibration = Scores(classes.names, lesions), None
    figures = {"pranet": protocol.summary() if protocol is not None else None} if pranet else {}
    return scores, measured.agreement.figures() | ({"calibration": calibration} if calibration else {}) | figures


def _infer(
    images: Sequence[EvaluationImage], forward: Forward, student: Forward | None, device: torch.device,
    dtype: torch.dtype, *, flips: bool, keep: bool,
) -> Iterator[InferredGroup]:  # fmt: skip
    inputs = to_batch([image.input for image in images], device, dtype)
    outputs = forward_views(forward, inputs, flips=flips)
    of_student = student(inputs) if student is not None else None
    return infer_groups(images, outputs, of_student, keep_probabilities=keep)


def _only_normal_is_drawn(samples: Sequence[Sample], scores: Scores) -> bool:
    """Whether lesions are known by tags alone, and masks exist for normal images only."""
    undrawn = any(sample.tag == LESION and sample.mask is None for sample in samples)
    return undrawn and not scores.matrices()[:, 1:].any()
