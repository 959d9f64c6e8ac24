"""One pass over the target set: Algorithm 1, Equation 5 and the rules that refine them.  The labels hold for an epoch.

The network sees each image once.  Its logits are kept at their own low resolution and in half precision
(`logit_cache.py`), and rounded BEFORE anything is counted: thresholds and assignment see the same numbers, so the
portion comes out right.  Nothing here grows with the set but the names of its images.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, UNKNOWN_TAG, PassBatch, SegOutput
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.distributed import sum_over_processes
from endotransfer.errors import TrainingDiverged
from endotransfer.pseudo_labels.assign import CLEAR, assign, assign_clear
from endotransfer.pseudo_labels.in_parts import image_by_image
from endotransfer.pseudo_labels.labelling_summary import LabellingSummary
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.rules import LabelRule, RuleContext
from endotransfer.pseudo_labels.target_set import TargetSet
from endotransfer.pseudo_labels.thresholds import ThresholdState

AHEAD = 2  # batches that a GPU is asked for before the host looks whether the first was finite
LEAST_LOGIT = -60000.0  # the end of half precision, near enough
Predict = Callable[[Tensor], SegOutput]


class ImageLabeller(Protocol):
    """Beyond the paper: labels images tagged lesion one by one, instead of by the thresholds of the whole set."""

    def score(self, images: Tensor) -> Tensor: ...  # [B, 3, H, W] -> [B, h, w]: how much each place looks like a lesion
    def observe(self, logits: Tensor, scores: Tensor, tags: Tensor) -> None: ...  # every batch of the set, once
    def settle(self) -> None: ...  # all batches of all processes have been observed

    def label(self, logits: Tensor, scores: Tensor, by_threshold: Tensor) -> Tensor:
        """Labels [B, H, W] uint8 from logits [B, K, H, W], scores [B, H, W] and the labels by thresholds."""
        ...


@torch.no_grad()
def label_target_set(
    predict: Predict,
    target: TargetSet,
    classes: int,
    portion: float,
    *,
    balanced: bool = True,
    certain: float | None = None,
    rules: Sequence[LabelRule] = (),
    image_labeller: ImageLabeller | None = None,
    device: torch.device | str | None = None,
) -> LabellingSummary:
    """Give every image of `target` its map of pseudo-labels, and store it.

    `certain`: predictions above this probability get their label, whatever the portion (FDA's 0.9).  `rules` refine
    the labels in their order.  `device` is where predictions are counted and labels assigned (all
    processes must use one kind).
    """
    where = torch.device(device or "cpu")
    cache = target.logit_cache(classes + (image_labeller is not None))
    state = ThresholdState(classes, device=where)

    def count(maps: Tensor, batch: PassBatch) -> None:
        for _, some in image_by_image(maps[:, :classes]):
            state.update(_at(some, target.size, where))
        if image_labeller is not None:
            image_labeller.observe(*_unpack(maps.to(where).float(), classes), _tags(batch, where))

    _predict_all(predict, target, cache, image_labeller, count)
    state.reduce_over_processes()
    thresholds = state.thresholds(portion, balanced)
    if certain is not None:
        thresholds = thresholds.clamp(max=math.log(certain / (1 - certain)))
    if image_labeller is not None:
        image_labeller.settle()

    label = assign_clear if bool((thresholds > CLEAR).all()) else assign
    labelled = torch.zeros(classes, dtype=torch.int64, device=thresholds.device)
    images = 0
    for number, batch in enumerate(target.without_images()):
        parts = []
        for place, maps in image_by_image(cache.get(number)):
            logits, scores = _unpack(_at(maps, target.size, where), classes)
            labels = label(logits, thresholds)
            if image_labeller is not None:
                lesion = (_tags(batch, where)[place] == LESION).view(-1, 1, 1)
                labels = torch.where(lesion, image_labeller.label(logits, scores, labels), labels)
            parts.append(labels)
        labels = torch.cat(parts)
        tags = None if batch.tags is None else batch.tags.to(labels.device)
        context = RuleContext(classes, tags, partial(target.superpixels, batch.keys))
        for rule in rules:
            labels = rule(labels, context)
        labelled += _pixels_by_class(labels, classes)
        target.store(batch.keys, labels)
        images += len(batch.keys)
    cache.clear()
    return LabellingSummary(
        portion=portion,
        thresholds=thresholds.tolist(),
        predicted=state.totals.tolist(),
        labelled=sum_over_processes(labelled).tolist(),
        images=int(sum_over_processes(torch.tensor(images, device=thresholds.device))),
    )


def _predict_all(
    predict: Predict, target: TargetSet, cache: LogitCache, image_labeller: ImageLabeller | None,
    count: Callable[[Tensor, PassBatch], None],
) -> None:  # fmt: skip
    """Predict and count every batch, its maps kept in `cache`; what a stopped pass left there is only counted.

    A GPU is asked for the next batches before the host knows that the last was finite: it never waits.
    """
    done = cache.whole
    for number, batch in zip(range(done), target.without_images(), strict=False):
        count(cache.get(number), batch)
    unknown: deque[tuple[int, Tensor, HostCopy, PassBatch]] = deque()

    def keep_all_but(waiting: int) -> None:
        while len(unknown) > waiting:
            number, maps, finite, batch = unknown.popleft()
            _require_finite(finite, batch)
            cache.put(number, maps)

    with cache.writing():
        for number, batch in enumerate(target.after(done), done):
            maps = _half(predict(batch.images).logits)
            if image_labeller is not None:
                maps = _pack(maps, image_labeller.score(batch.images))
            named = PassBatch(batch.images[:0], batch.tags, batch.keys)  # the images themselves are needed no more
            unknown.append((number, maps, HostCopy(maps.isfinite().all()), named))
            if not maps.is_cuda:
                keep_all_but(0)
            count(maps, batch)
            keep_all_but(AHEAD)
        keep_all_but(0)


def _half(logits: Tensor) -> Tensor:
    """The prediction [B, K, h, w] in half precision, each pixel's largest logit moved to 0.

    Softmax does not see the move, neither here nor after up-sampling (all classes of a pixel move alike),
    and half precision is finest near 0.
    """
    logits = logits.detach().float()
    return (logits - logits.amax(1, keepdim=True)).clamp(min=LEAST_LOGIT).half()


def _require_finite(finite: HostCopy, batch: PassBatch) -> None:
    if not bool(finite.get()):
        raise TrainingDiverged(
            f"the network predicts values that are not finite on target images {', '.join(batch.keys)}; "
            "go back to the last checkpoint and lower the learning rate."
        )


def _pack(logits: Tensor, scores: Tensor) -> Tensor:
    """Logits [B, K, h, w] and an image labeller's scores [B, h', w'] as one map [B, K + 1, h, w]."""
    sized = interpolate(scores.detach().float().unsqueeze(1), logits.shape[-2:], mode="bilinear", align_corners=False)
    sized = sized.clamp(LEAST_LOGIT, -LEAST_LOGIT).to(logits.device)
    return torch.cat([logits.float(), sized], dim=1).half()  # autocast on a CPU cannot join halves


def _unpack(maps: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Logits [B, K, h, w] and scores [B, h, w] (empty, where there is no image labeller)."""
    return maps[:, :classes], maps[:, classes:].flatten(1, 2)


def _pixels_by_class(labels: Tensor, classes: int) -> Tensor:
    """How many pixels of labels uint8 have each class, [K]; a GPU would wait in `bincount` for the largest value."""
    if labels.is_cuda:
        return torch.stack([(labels == value).sum() for value in range(classes)])  # pragma: needs cuda
    return torch.bincount(labels.flatten().long(), minlength=256)[:classes]


def _tags(batch: PassBatch, device: torch.device) -> Tensor:
    if batch.tags is None:
        return torch.full((len(batch.keys),), UNKNOWN_TAG, device=device)
    return batch.tags.to(device)


def _at(maps: Tensor, size: tuple[int, int], device: torch.device) -> Tensor:
    """Maps [B, C, H, W] at the images' size, on `device`."""
    return interpolate(maps.to(device, non_blocking=True).float(), size=size, mode="bilinear", align_corners=False)
