"""The target set as a target pass sees it: images on the device, super-pixels by key, and a place to store maps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from endotransfer.batch import PassBatch
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.engine.map_store import MapStore
from endotransfer.pseudo_labels.logit_cache import LogitCache


@dataclass
class StoredTargetSet:
    """This process's share of the target set, joined to the run's map store."""

    images: PassSet | DevicePassSet
    maps: MapStore
    device: torch.device
    dtype: torch.dtype
    near: DeviceBatchSource | None = None  # training's own batches, where it can take maps over from memory
    pass_epoch: int = 0  # the epoch before which this pass runs
    logit_cache: LogitCache = field(default_factory=LogitCache)
    seen: Callable[[int], None] = lambda batches: None  # told of progress, in batches

    @property
    def size(self) -> tuple[int, int]:
        return self.images.images.size

    @property
    def total(self) -> int:
        return len(self.images.images)

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        self.seen(batches)
        for batch in self.images.after(batches):
            yield to_device(batch, self.device, self.dtype)
            self.seen(1)

    def without_images(self) -> Iterator[PassBatch]:
        for batch in self.images.without_images():
            yield batch
            self.seen(1)

    def superpixels(self, keys: list[str]) -> Tensor:
        return self.images.superpixels(keys).to(self.device)

    def store(self, keys: list[str], maps: Tensor) -> None:
        self.maps.store(keys, maps)
        if self.near is not None:
            self.near.receive(self.pass_epoch, keys, maps)
