"""Batches made on the GPU: images stay there as bytes, and are selected and augmented there.

A loader process would copy and augment the decoded images one by one; for small networks on a fast GPU that takes
most of a step.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.data.pipeline.batch_source import BatchSource, Share, check_shares
from endotransfer.data.pipeline.batch_transforms import augment_batch
from endotransfer.data.pipeline.order import augmentation_seed
from endotransfer.data.pipeline.threads import one_ahead
from endotransfer.label_values import IGNORE

READERS = 8  # threads that read a pass's maps


class DeviceBatchSource:
    """The batches of `batch_source`, in the same order and with the same augmentation, made on `device`."""

    def __init__(self, batch_source: BatchSource, device: torch.device) -> None:
        self.batch_source = batch_source
        self.streams = {name: _DeviceStream(share, device) for name, share in batch_source.shares.items()}

    @staticmethod
    def bytes_of(batch_source: BatchSource) -> int | None:
        """Memory that this takes; None where it cannot be: images that stay on disk, super-pixels in batches."""
        streams = [share.stream for share in batch_source.shares.values()]
        if any(not stream.images.cached or stream.superpixels is not None for stream in streams):
            return None
        maps = sum(len(stream.images) * stream.images.size[0] * stream.images.size[1] for stream in streams)
        return sum(stream.images.bytes for stream in streams) + maps

    def batches(
        self, first_step: int, last_step: int, *, rank: int = 0, world_size: int = 1, pass_epoch: int | None = 0,
        use_target: bool = True,
    ) -> Iterator[Batch]:  # fmt: skip
        check_shares(self.batch_source.shares, world_size)
        steps = range(first_step, last_step)
        return one_ahead(lambda step: self._batch(step, rank, world_size, pass_epoch, use_target), steps)

    def receive(self, pass_epoch: int, keys: list[str], maps: Tensor) -> None:
        """Maps [B, H, W] of `pass_epoch` as a target pass made them: they need not be read from disk again."""
        self.streams["target"].receive(pass_epoch, keys, maps)

    def close(self) -> None:
        self.batch_source.close()

    def _batch(self, step: int, rank: int, world_size: int, pass_epoch: int | None, use_target: bool) -> Batch:
        parts = {
            name: stream.take(step, rank, world_size, pass_epoch)
            for name, stream in self.streams.items()
            if use_target or name != "target"
        }
        source = [parts[name] for name in ("masked", "tag-only") if name in parts]
        return Batch(
            self._source(source) if source else None,
            self._target(parts["target"]) if "target" in parts else None,
            self._source([parts["reviewed"]]) if "reviewed" in parts else None,
            self._target(parts["normals"]) if "normals" in parts else None,
        )

    def _source(self, parts: list["BatchPart"]) -> SourceBatch:
        images = torch.cat([part.images for part in parts])
        masks = parts[0].maps.get("mask", images.new_empty((0, *images.shape[-2:])))
        tags = torch.cat([part.tags for part in parts]) if self.batch_source.tags else None
        return SourceBatch(images, masks, tags, [key for part in parts for key in part.keys])

    def _target(self, part: "BatchPart") -> TargetBatch:
        tags = part.tags if self.batch_source.tags else None
        return TargetBatch(part.images, tags, part.maps.get("stored"), keys=part.keys)


@dataclass(frozen=True)
class BatchPart:
    """One stream's images of one batch."""

    images: Tensor  # [B, 3, H, W] uint8
    maps: dict[str, Tensor]  # [B, H, W] uint8: mask, stored
    tags: Tensor  # [B]
    keys: list[str]


class _DeviceStream:
    """One stream with its images, masks and stored maps on the device."""

    def __init__(self, share: Share, device: torch.device) -> None:
        self.share, self.stream, self.device = share, share.stream, device
        self.images, self.masks = share.stream.images.on(device)
        self.tags = torch.tensor([sample.tag for sample in self.stream.images.samples], device=device)
        self._stored: tuple[int, Tensor] | None = None  # the pass that is being read
        self._place = {sample.key: place for place, sample in enumerate(self.stream.images.samples)}

    def take(self, step: int, rank: int, world_size: int, pass_epoch: int | None) -> BatchPart:
        own = self.share.images // world_size
        first = step * self.share.images + rank * own
        entries = [self.stream.order.entry(position) for position in range(first, first + own)]
        keys = [self.stream.images.samples[index].key for _, index in entries]
        chosen = torch.tensor([index for _, index in entries]).to(self.device, non_blocking=True)
        images, maps = self.images[chosen], {name: values[chosen] for name, values in self._maps(pass_epoch).items()}
        if self.stream.augment is not None:
            seeds = [
                augmentation_seed(self.stream.seed, self.stream.name, epoch, key)
                for (epoch, _), key in zip(entries, keys, strict=True)
            ]
            images, maps = augment_batch(self.stream.augment, images, maps, seeds)
        return BatchPart(images, maps, self.tags[chosen], keys)

    def _maps(self, pass_epoch: int | None) -> dict[str, Tensor]:
        maps = {} if self.masks is None else {"mask": self.masks}
        if self.stream.maps is not None and pass_epoch is not None:
            maps["stored"] = self._stored_in(pass_epoch)
        return maps

    def receive(self, pass_epoch: int, keys: list[str], maps: Tensor) -> None:
        if self._stored is None or self._stored[0] != pass_epoch:
            self._stored = pass_epoch, torch.full_like(self.images[:, 0], IGNORE)
        places = torch.tensor([self._place[key] for key in keys]).to(self.device, non_blocking=True)
        self._stored[1][places] = maps.to(self.device, torch.uint8)

    def _stored_in(self, pass_epoch: int) -> Tensor:
        """All maps of a pass, read once: uint8 [N, H, W]."""
        if self._stored is None or self._stored[0] != pass_epoch:
            self._stored = None  # first, so that two passes are never there at once
            with ThreadPoolExecutor(READERS) as readers:
                keys = [sample.key for sample in self.stream.images.samples]
                maps = list(readers.map(lambda key: self.stream.stored(key, pass_epoch)["stored"], keys))
            self._stored = pass_epoch, torch.stack(maps).to(self.device)
        return self._stored[1]
