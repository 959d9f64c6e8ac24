"""The target set as a target pass sees it: images on the device, super-pixels by key, and a place to store maps."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from endotransfer.batch import PassBatch
from endotransfer.data.device_feed import DeviceFeed
from endotransfer.data.device_pass import DevicePassSet
from endotransfer.data.streams import PassSet, to_device
from endotransfer.engine.maps import MapStore
from endotransfer.engine.propagation import watched_keys


@dataclass
class StoringTargetSet:
    """This process's share of the target set, joined to the run's map store."""

    images: PassSet | DevicePassSet
    maps: MapStore
    device: torch.device
    dtype: torch.dtype
    near: DeviceFeed | None = None  # training's own feed, where it can take maps over from memory
    round: int = 0  # that is being made

    def __post_init__(self) -> None:
        self.maps.watched = watched_keys(self.images.images.samples)  # of all processes: the first one closes the round

    def __iter__(self) -> Iterator[PassBatch]:
        for batch in self.images:
            yield to_device(batch, self.device, self.dtype)

    def superpixels(self, keys: list[str]) -> Tensor:
        return self.images.superpixels(keys).to(self.device)

    def store(self, keys: list[str], maps: Tensor) -> None:
        self.maps.store(keys, maps)
        if self.near is not None:
            self.near.receive(self.round, keys, maps)
