"""One batch for each training step, from up to three streams."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.data import Dataset

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.data.pipeline.loader_processes import caught, close_loader, make_loader, results
from endotransfer.data.pipeline.stream import Item, Stream
from endotransfer.data.pipeline.transforms import REGIONS
from endotransfer.errors import ConfigError

T = TypeVar("T")


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
    world: int
    round: int | None
    use_target: bool


class BatchSource:
    """Batches by number.  Step s takes positions s b to (s + 1) b - 1 of each stream, b its share of a batch.

    A batch depends on its step and on nothing that came before, so a run that is taken up again at step s goes
    on as if it had never stopped.  Batches carry bytes; `to_device` makes numbers of them.
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
        world: int = 1,
        round: int | None = 0,
        use_target: bool = True,
    ) -> Iterator[Batch]:
        """The batches of steps `first_step` to `last_step` - 1 for process `rank` of `world`.

        One loader iterator for each call, so that nothing is prefetched from beyond `last_step`, where a
        target pass may store new maps.  A second call ends the first.
        """
        check_shares(self.shares, world)
        steps = range(first_step, last_step)
        return self._batches([Step(number, rank, world, round, use_target) for number in steps])

    def _batches(self, steps: list[Step]) -> Iterator[Batch]:
        self._plan[:] = steps
        for parts in results(self._loader):
            kinds = {"source": SourceBatch, "target": TargetBatch, "reviewed": SourceBatch}
            yield Batch(**{name: kinds[name](**part) for name, part in parts.items()})

    def close(self) -> None:
        """End the loader processes; a later call of `batches` starts new ones."""
        close_loader(self._loader)


def check_shares(shares: dict[str, Share], world: int) -> None:
    for name, share in shares.items():
        if share.images % world:
            what = f"{share.images} {name} images in a batch cannot be shared by {world} processes"
            raise ConfigError(f"{what}; make their number a multiple of {world}.")


class _Parts(Dataset[Any]):
    """Step -> the fields of its source and target batch, as dicts that a loader can move to pinned memory."""

    def __init__(self, shares: dict[str, Share], tags: bool) -> None:
        self.shares = shares
        self.tags = tags

    def __getitem__(self, step: Step) -> Any:
        return caught(lambda: self._make(step))

    def _make(self, step: Step) -> dict[str, dict[str, Any]]:
        masked, tag_only = self._items("masked", step), self._items("tag-only", step)
        target = self._items("target", step) if step.use_target else []
        parts = {}
        if masked or tag_only:
            parts["source"] = self._labelled(masked, tag_only)
        if target:
            maps = {name: _stack(target, name) for name in ("stored", REGIONS) if name in target[0]}
            parts["target"] = {**self._common(target), **maps}
        if reviewed := self._items("reviewed", step):
            parts["reviewed"] = self._labelled(reviewed, [])
        return parts

    def _labelled(self, masked: list[Item], tag_only: list[Item]) -> dict[str, Any]:
        common = self._common(masked + tag_only)
        masks = _stack(masked, "mask") if masked else torch.empty((0, *common["images"].shape[-2:])).byte()
        return {**common, "masks": masks}

    def _items(self, name: str, step: Step) -> list[Item]:
        if name not in self.shares:
            return []
        share = self.shares[name]
        own = share.images // step.world
        first = step.number * share.images + step.rank * own
        return [share.stream[position, step.round] for position in range(first, first + own)]

    def _common(self, items: Sequence[Item]) -> dict[str, Any]:
        tags = torch.tensor([item["tag"] for item in items]) if self.tags else None
        return {"images": _stack(items, "image"), "tags": tags, "keys": [item["key"] for item in items]}


def _stack(items: Sequence[Item], name: str) -> Tensor:
    return torch.stack([item[name] for item in items])


def to_device(batch: T, device: torch.device | str, dtype: torch.dtype = torch.float32) -> T:
    """A Batch (or a part of one) on `device`: images of `dtype` in [0, 1], everything else int64.

    Bytes travel and become numbers on arrival: a quarter of the traffic of floats.
    """
    moved: dict[str, Any] = {}
    for field in fields(batch):  # type: ignore[arg-type]
        value = getattr(batch, field.name)
        if is_dataclass(value):
            moved[field.name] = to_device(value, device, dtype)
        elif isinstance(value, Tensor):
            there = value.to(device, non_blocking=True)
            moved[field.name] = to_unit(there, dtype) if field.name == "images" else there.long()
    return replace(batch, **moved)  # type: ignore[type-var]


def to_unit(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes -> numbers in [0, 1]; numbers stay what they are."""
    return images.to(dtype) / 255 if images.dtype == torch.uint8 else images.to(dtype)
