"""A target set in memory with a fixed network, and the labels that a pass over it must give."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, PassBatch, SegOutput
from endotransfer.pseudo_labels.assign import assign
from endotransfer.pseudo_labels.local_labeller import LocalLabeller
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.thresholds import ThresholdState

SIZE = 16
TAGS = [NORMAL, LESION, UNKNOWN_TAG, LESION, NORMAL]


class MemoryTargetSet:
    """Five random images in batches of two, their super-pixels 4 x 4 squares."""

    def __init__(self, tags: bool = True) -> None:
        self.images = torch.rand(5, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(3))
        self.keys = [f"set/{i}" for i in range(5)]
        self.tags = torch.tensor(TAGS) if tags else None
        self.stored: dict[str, Tensor] = {}
        self.cache, self.size, self.total = LogitCache(), (SIZE, SIZE), 5

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def without_images(self) -> Iterator[PassBatch]:
        return (PassBatch(torch.empty(0), batch.tags, batch.keys) for batch in self)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for start in range(2 * batches, 5, 2):
            part = slice(start, start + 2)
            yield PassBatch(self.images[part], None if self.tags is None else self.tags[part], self.keys[part])

    def logit_cache(self, channels: int) -> LogitCache:
        return self.cache

    def superpixels(self, keys: list[str]) -> Tensor:
        rows = torch.arange(SIZE) // 4
        return (rows.view(-1, 1) * 4 + rows).expand(len(keys), -1, -1)

    def store(self, keys: list[str], maps: Tensor) -> None:
        assert maps.dtype == torch.uint8
        self.stored |= dict(zip(keys, maps, strict=True))

    @property
    def maps(self) -> Tensor:
        return torch.stack([self.stored[key] for key in self.keys])


class EmptySet(MemoryTargetSet):
    """The part of a process that has no images."""

    def after(self, batches: int) -> Iterator[PassBatch]:
        return iter(())


class Network:
    """Logits at a quarter of the size, a fixed function of the image; counts its forwards."""

    def __init__(self, scale: float = 5.0, offset: float | Tensor = 0.0) -> None:
        self.scale, self.offset, self.images = scale, offset, 0

    def __call__(self, images: Tensor) -> SegOutput:
        self.images += len(images)
        pooled = interpolate(images, size=(4, 4), mode="bilinear", antialias=True)
        logits = (pooled - 0.5) * self.scale + self.offset
        return SegOutput(logits=logits, tag_logits=None, features=pooled)


class LocalScores:
    """Local scores at half the images' size, a fixed function of the image; counts its images."""

    def __init__(self) -> None:
        self.images = 0

    def __call__(self, images: Tensor) -> Tensor:
        self.images += len(images)
        return 20.0 * (interpolate(images, size=(8, 8), mode="bilinear", antialias=True)[:, 1] - 0.5)


def expected_logits(target: MemoryTargetSet, scale: float = 5.0) -> Tensor:
    """Rounded to half precision around the largest, then up-sampled: what thresholds and assignment must see."""
    logits = Network(scale)(target.images).logits
    rounded = (logits - logits.amax(1, keepdim=True)).half().float()
    return interpolate(rounded, size=(SIZE, SIZE), mode="bilinear", align_corners=False)


def expected_labels(target: MemoryTargetSet, portion: float, balanced: bool = True) -> Tensor:
    logits = expected_logits(target)
    state = ThresholdState(3)
    state.update(logits)
    return assign(logits, state.thresholds(portion, balanced))


def expected_with_labeller(
    target: MemoryTargetSet, portion: float, segmenter_alone: Tensor | None = None
) -> tuple[Tensor, LocalLabeller]:
    """The set's thresholds, and over them each lesion image's own labels; every image was observed once."""
    labeller = LocalLabeller(LocalScores(), 0.25, segmenter_alone, portion=0.7)
    scores = LocalScores()(target.images).unsqueeze(1)
    local = interpolate(scores, size=(4, 4), mode="bilinear", align_corners=False).half().float()  # like the logits
    small = Network()(target.images).logits
    assert target.tags is not None
    labeller.observe((small - small.amax(1, keepdim=True)).half().float(), local[:, 0], target.tags)
    labeller.settle()
    sized = interpolate(local, size=(SIZE, SIZE), mode="bilinear", align_corners=False)[:, 0]
    labels = expected_labels(target, portion)
    own = labeller.label(expected_logits(target), sized, labels)
    return torch.where((target.tags == LESION).view(-1, 1, 1), own, labels), labeller
