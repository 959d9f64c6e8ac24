"""The images of one training step, taken from its streams: what a loader process makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor
from torch.utils.data import Dataset

from endotransfer.data.pipeline.loader_processes import Failure, caught
from endotransfer.data.pipeline.stream import Stream, StreamItem
from endotransfer.data.pipeline.transforms import REGIONS


@dataclass(frozen=True)
class Share:
    """A stream and how many of its images are in a step's batch, over all processes."""

    stream: Stream
    images: int


@dataclass(frozen=True)
class Step:
    """All that a batch depends on."""

    number: int
    rank: int
    world_size: int
    pass_epoch: int | None
    use_target: bool


class SourceFields(TypedDict):
    """The fields of a SourceBatch."""

    images: Tensor
    masks: Tensor
    tags: Tensor | None
    keys: list[str]


class TargetFields(TypedDict):
    """The fields of a TargetBatch."""

    images: Tensor
    tags: Tensor | None
    keys: list[str]
    stored: Tensor | None
    superpixels: Tensor | None


class StepFields(TypedDict, total=False):
    """The fields of a Batch, as far as the step has them."""

    source: SourceFields
    target: TargetFields
    reviewed: SourceFields
    normals: TargetFields


class StepDataset(Dataset[StepFields | Failure]):
    """The batch of each step, as dicts: those a loader can move to pinned memory."""

    def __init__(self, shares: dict[str, Share], tags: bool) -> None:
        self.shares = shares
        self.tags = tags

    def __getitem__(self, step: Step) -> StepFields | Failure:
        return caught(lambda: self._make(step))

    def _make(self, step: Step) -> StepFields:
        masked, tag_only = self._items("masked", step), self._items("tag-only", step)
        target = self._items("target", step) if step.use_target else []
        parts: StepFields = {}
        if masked or tag_only:
            parts["source"] = self._labelled(masked, tag_only)
        if target:
            parts["target"] = self._unlabelled(target)
        if reviewed := self._items("reviewed", step):
            parts["reviewed"] = self._labelled(reviewed, [])
        if normals := self._items("normals", step):
            parts["normals"] = self._unlabelled(normals)
        return parts

    def _items(self, name: str, step: Step) -> list[StreamItem]:
        if name not in self.shares:
            return []
        share = self.shares[name]
        own = share.images // step.world_size
        first = step.number * share.images + step.rank * own
        return [share.stream[position, step.pass_epoch] for position in range(first, first + own)]

    def _labelled(self, masked: list[StreamItem], tag_only: list[StreamItem]) -> SourceFields:
        items = masked + tag_only
        images = _stack_images(items)
        masks = _stack_maps(masked, "mask")
        if masks is None:
            masks = torch.empty((0, *images.shape[-2:])).byte()
        return {"images": images, "masks": masks, "tags": self._tags(items), "keys": [item.key for item in items]}

    def _unlabelled(self, items: list[StreamItem]) -> TargetFields:
        return {
            "images": _stack_images(items),
            "tags": self._tags(items),
            "keys": [item.key for item in items],
            "stored": _stack_maps(items, "stored"),
            "superpixels": _stack_maps(items, REGIONS),
        }

    def _tags(self, items: Sequence[StreamItem]) -> Tensor | None:
        return torch.tensor([item.tag for item in items]) if self.tags else None


def _stack_images(items: Sequence[StreamItem]) -> Tensor:
    return torch.stack([item.image for item in items])


def _stack_maps(items: Sequence[StreamItem], name: str) -> Tensor | None:
    """The maps called `name`, [B, H, W]; None where the items have none."""
    return torch.stack([item.maps[name] for item in items]) if items and name in items[0].maps else None
