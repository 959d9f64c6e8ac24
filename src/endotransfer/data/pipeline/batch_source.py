"""One batch for each training step, from up to four streams."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor
from torch.utils.data import Dataset

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.data.pipeline.loader_processes import Failure, caught, close_loader, make_loader, results
from endotransfer.data.pipeline.stream import Stream, StreamItem
from endotransfer.data.pipeline.transforms import REGIONS
from endotransfer.errors import ConfigError


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


class BatchSource:
    """Batches by number.  Step s takes positions s b to (s + 1) b - 1 of each stream, b its share of a batch.

    A batch depends on its step and on nothing before it, so a run resumed at step s continues as if it had never
    stopped.  Batches hold bytes; `to_device` converts them to floats.
    """

    def __init__(
        self,
        *,
        masked: Share | None = None,
        tag_only: Share | None = None,
        target: Share | None = None,
        reviewed: Share | None = None,
        tags: bool = True,
        workers: int = 0,
    ) -> None:
        if target is not None and target.stream.images.masks:
            raise ConfigError("the target stream was opened with masks; target training masks may not be read.")
        shares = {"masked": masked, "tag-only": tag_only, "target": target, "reviewed": reviewed}
        self.shares = {name: share for name, share in shares.items() if share is not None and share.images > 0}
        self.tags = tags
        self._plan: list[Step] = []
        self._loader = make_loader(_Parts(self.shares, tags), self._plan, workers)

    def batches(
        self,
        first_step: int,
        last_step: int,
        *,
        rank: int = 0,
        world_size: int = 1,
        pass_epoch: int | None = 0,
        use_target: bool = True,
    ) -> Iterator[Batch]:
        """The batches of steps `first_step` to `last_step` - 1 for process `rank` of `world_size`.

        One loader iterator for each call, so that nothing is prefetched from beyond `last_step`, where a
        target pass may store new maps.  A second call ends the first.
        """
        check_shares(self.shares, world_size)
        steps = range(first_step, last_step)
        return self._batches([Step(number, rank, world_size, pass_epoch, use_target) for number in steps])

    def _batches(self, steps: list[Step]) -> Iterator[Batch]:
        self._plan[:] = steps
        for parts in results(self._loader):
            yield Batch(
                SourceBatch(**parts["source"]) if "source" in parts else None,
                TargetBatch(**parts["target"]) if "target" in parts else None,
                SourceBatch(**parts["reviewed"]) if "reviewed" in parts else None,
            )

    def close(self) -> None:
        """End the loader processes; a later call of `batches` starts new ones."""
        close_loader(self._loader)


def check_shares(shares: dict[str, Share], world_size: int) -> None:
    """Refuse a batch that `world_size` processes cannot divide evenly."""
    for name, share in shares.items():
        if share.images % world_size:
            what = f"{share.images} {name} images in a batch cannot be shared by {world_size} processes"
            raise ConfigError(f"{what}; make their number a multiple of {world_size}.")


class _SourceFields(TypedDict):
    images: Tensor
    masks: Tensor
    tags: Tensor | None
    keys: list[str]


class _TargetFields(TypedDict):
    images: Tensor
    tags: Tensor | None
    keys: list[str]
    stored: Tensor | None
    superpixels: Tensor | None


class _PartFields(TypedDict, total=False):
    source: _SourceFields
    target: _TargetFields
    reviewed: _SourceFields


class _Parts(Dataset[_PartFields | Failure]):
    """Step -> the fields of its batches, as dicts: those a loader can move to pinned memory."""

    def __init__(self, shares: dict[str, Share], tags: bool) -> None:
        self.shares = shares
        self.tags = tags

    def __getitem__(self, step: Step) -> _PartFields | Failure:
        return caught(lambda: self._make(step))

    def _make(self, step: Step) -> _PartFields:
        masked, tag_only = self._items("masked", step), self._items("tag-only", step)
        target = self._items("target", step) if step.use_target else []
        parts: _PartFields = {}
        if masked or tag_only:
            parts["source"] = self._labelled(masked, tag_only)
        if target:
            parts["target"] = self._unlabelled(target)
        if reviewed := self._items("reviewed", step):
            parts["reviewed"] = self._labelled(reviewed, [])
        return parts

    def _items(self, name: str, step: Step) -> list[StreamItem]:
        if name not in self.shares:
            return []
        share = self.shares[name]
        own = share.images // step.world_size
        first = step.number * share.images + step.rank * own
        return [share.stream[position, step.pass_epoch] for position in range(first, first + own)]

    def _labelled(self, masked: list[StreamItem], tag_only: list[StreamItem]) -> _SourceFields:
        items = masked + tag_only
        images = _stack_images(items)
        masks = _stack_maps(masked, "mask")
        if masks is None:
            masks = torch.empty((0, *images.shape[-2:])).byte()
        return {"images": images, "masks": masks, "tags": self._tags(items), "keys": [item.key for item in items]}

    def _unlabelled(self, items: list[StreamItem]) -> _TargetFields:
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
