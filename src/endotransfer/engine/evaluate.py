"""Numbers from predictions: one pass over the test images, at the size of their own masks."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, UNKNOWN_TAG, Sample, SegOutput
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decoded_images import resize_image
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.data.read.read_image import read_image
from endotransfer.distributed import gather_texts, rank, world_size
from endotransfer.inference import FLIPS, InferenceGeometry, Predict
from endotransfer.metrics import Scores, auroc, confusion, tag_evidence
from endotransfer.metrics.percent import percent
from endotransfer.metrics.pranet import PraNetScores

READERS = 4  # threads: decoding releases the interpreter


@dataclass(frozen=True)
class Shown:
    """One image as the evaluator sees it: for the network, and its truth at its own size."""

    sample: Sample
    pixels: Tensor  # [3, h, w] uint8, at the network's size
    size: tuple[int, int]  # of the image itself
    truth: NDArray[np.uint8] | None  # [H, W]


@dataclass
class TagAgreement:
    """What the tags can be held against, image by image."""

    lesion_pixels: list[int] = field(default_factory=list)
    pixels: list[int] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)
    tag_probabilities: list[float] = field(default_factory=list)  # of S1, where there is one
    teacher_student: list[NDArray[np.int64]] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        if not self.tags:
            return {}
        pairs = np.stack(self.teacher_student) if self.teacher_student else None
        figures = tag_evidence(self.lesion_pixels, self.pixels, self.tags, self.peaks, pairs)
        if self.tag_probabilities:
            figures["tag_evidence"]["auroc_tag_head"] = percent(auroc(self.tag_probabilities, self.tags))
        return figures


@torch.inference_mode()
def evaluate_samples(
    predict: Predict, samples: Sequence[Sample], classes: Classes, shape: tuple[int, int] | InferenceGeometry, device: torch.device,
    *, batch: int = 16, dtype: torch.dtype = torch.float32, student: Predict | None = None, lesions: bool = True,
    pranet: bool = False, flips: bool = False, shared: bool = False, progress: Callable[[int], None] | None = None,
) -> tuple[Scores, dict[str, Any]]:  # fmt: skip
    """Score every image that has a mask; collect tag evidence from every image that has a tag.

    `shape` (H, W) is what the network sees of every image; a `InferenceGeometry` may say so in more detail.
    `lesions`: class 0 is normal tissue.  `student` beside the predicting teacher adds how far the two agree.
    `pranet` adds the figures of that protocol, beside the evidence.  `flips`: the mean of the probabilities of four
    mirror images, as `predict --flips`; the student stays as it is.
    `shared`: all processes call this with the same samples; each sees its part, and all return the same.
    """
    scores, evidence = Scores(classes.names, lesions), TagAgreement()
    shared = shared and not pranet  # that protocol's sums stay in one place
    whole, samples = samples, samples[rank() :: world_size()] if shared else samples
    protocol = PraNetScores() if pranet and lesions else None
    geometry = shape if isinstance(shape, InferenceGeometry) else InferenceGeometry(shape)
    predict, student = geometry.through(predict), student and geometry.through(student)
    for shown in _batches(
        samples, classes, geometry.size, batch if geometry.size else 1
    ):  # own sizes: no two need be equal
        images = torch.stack([one.pixels for one in shown]).to(device, dtype) / 255
        outputs = [_turned(predict, images, axes) for axes in FLIPS] if flips else [predict(images)]
        second = student(images) if student is not None and lesions else None
        for index, one in enumerate(shown):
            probabilities = _mean_probabilities(outputs, index, one.size)
            mask = probabilities.max(0).indices  # as `argmax`, which takes seven times as long on a CPU
            if one.truth is not None:
                scores.update(
                    mask.cpu(), torch.from_numpy(one.truth), key=one.sample.key, group=one.sample.group,
                    finding=one.sample.finding, tag=one.sample.tag, lesion_probability=_tag_probability(outputs, index),
                )  # fmt: skip
                if protocol is not None:
                    protocol.update(probabilities[1:].sum(0).cpu().numpy(), one.truth, one.sample.key)
            if lesions and one.sample.tag != UNKNOWN_TAG:
                _add_evidence(evidence, one, outputs, probabilities, mask, second, index)
        if progress is not None:
            progress(len(shown))
    if shared:
        scores, evidence = _joined(scores, evidence, device)
    if lesions and _only_normal_is_drawn(whole, scores):
        scores = Scores(classes.names, lesions)  # an IoU over normal images alone would say nothing of lesions
    figures = {"pranet": protocol.summary() if protocol is not None else None} if pranet else {}
    return scores, evidence.figures() | figures


def _joined(scores: Scores, evidence: TagAgreement, device: torch.device) -> tuple[Scores, TagAgreement]:
    """What all processes have seen, the same in each."""
    pairs = [pair.tolist() for pair in evidence.teacher_student]
    own = json.dumps({"rows": scores.rows(), "evidence": {**vars(evidence), "teacher_student": pairs}})
    everything, seen = Scores(scores.classes, scores.lesions), TagAgreement()
    for said in map(json.loads, gather_texts(own, device)):
        everything.merge(Scores.from_rows(scores.classes, said["rows"], scores.lesions))
        said["evidence"]["teacher_student"] = [np.array(pair) for pair in said["evidence"]["teacher_student"]]
        for name, values in said["evidence"].items():
            getattr(seen, name).extend(values)
    return everything, seen


def _only_normal_is_drawn(samples: Sequence[Sample], scores: Scores) -> bool:
    """Whether lesions are known by tags alone, and masks exist for normal images only."""
    undrawn = any(sample.tag == LESION and sample.mask is None for sample in samples)
    return undrawn and not scores.matrices()[:, 1:].any()


def _batches(
    samples: Sequence[Sample], classes: Classes, shape: tuple[int, int] | None, batch: int
) -> Iterator[list[Shown]]:
    """Read ahead in threads, a few batches at most, so that memory does not grow with the set."""
    with ThreadPoolExecutor(READERS) as readers:
        window = [readers.submit(_show, sample, classes, shape) for sample in samples[: 2 * batch]]
        rest = iter(samples[2 * batch :])
        while window:
            now, window = window[:batch], window[batch:]
            yield [future.result() for future in now]
            window += [readers.submit(_show, sample, classes, shape) for sample in islice(rest, len(now))]


def _show(sample: Sample, classes: Classes, shape: tuple[int, int] | None) -> Shown:
    image = read_image(sample.image)
    size = (image.shape[0], image.shape[1])
    # A tag that contradicts its mask was an error, or was stated, before anything was trained.
    truth = None
    if sample.mask is not None:
        truth = read_checked_mask(sample, size, classes, keep_contradictions=True).mask
    pixels = torch.from_numpy(resize_image(image, shape or size)).permute(2, 0, 1)
    return Shown(sample, pixels, size, truth)


def _at(output: SegOutput, index: int, size: tuple[int, int]) -> Tensor:
    """Logits [K, H, W] of one image at its own size."""
    return interpolate(output.logits[index : index + 1].float(), size=size, mode="bilinear", align_corners=False)[0]


def _turned(predict: Predict, images: Tensor, axes: tuple[int, ...]) -> SegOutput:
    """What is said of the mirror images, as of the images themselves; without features, which nobody asks for here."""
    output = predict(images.flip(axes))
    return SegOutput(output.logits.flip(axes), output.tag_logits, output.logits[:, :0])


def _mean_probabilities(outputs: Sequence[SegOutput], index: int, size: tuple[int, int]) -> Tensor:
    """[K, H, W] of one image at its own size, the mean over `outputs`, one after the other: maps may be large."""
    total = _at(outputs[0], index, size).softmax(0)
    for output in outputs[1:]:
        total += _at(output, index, size).softmax(0)
    return total if len(outputs) == 1 else total / len(outputs)


def _tag_probability(outputs: Sequence[SegOutput], index: int) -> float | None:
    """S1's probability of a lesion, the mean over `outputs`."""
    said = [output.tag_logits[index].float() for output in outputs if output.tag_logits is not None]
    return float(torch.stack(said).softmax(1)[:, LESION].mean()) if said else None


def _add_evidence(
    evidence: TagAgreement,
    one: Shown,
    outputs: Sequence[SegOutput],
    probabilities: Tensor,
    mask: Tensor,
    second: SegOutput | None,
    index: int,
) -> None:
    evidence.lesion_pixels.append(int((mask != 0).sum()))
    evidence.pixels.append(mask.numel())
    evidence.tags.append(one.sample.tag)
    evidence.peaks.append(float(1 - probabilities[0].min()))
    if (chance := _tag_probability(outputs, index)) is not None:
        evidence.tag_probabilities.append(chance)
    if second is not None:
        other = _at(second, index, one.size).max(0).indices
        evidence.teacher_student.append(confusion((mask != 0).cpu().long(), (other != 0).cpu().long(), 2))
