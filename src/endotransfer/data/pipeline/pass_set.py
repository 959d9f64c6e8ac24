"""A whole set once, in order: for target passes and statistics over a domain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from endotransfer.batch import PassBatch
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.loader_processes import Failure, caught, make_loader, results
from endotransfer.data.pipeline.stream import superpixels_of
from endotransfer.data.pipeline.superpixel_cache import Progress, SuperpixelCache
from endotransfer.data.pipeline.to_device import to_unit
from endotransfer.errors import ConfigError

Stack = tuple[list[int], Tensor]  # indices, and their images uint8 [B, 3, H, W]


class PassSet:
    """All images of a set once, in order, unaugmented; process `rank` of `world_size` sees its share."""

    def __init__(
        self,
        images: DecodedImages,
        *,
        batch: int,
        rank: int = 0,
        world_size: int = 1,
        tags: bool = True,
        superpixels: SuperpixelCache | None = None,
        workers: int = 0,
    ) -> None:
        self.images = images
        self.indices = range(rank, len(images), world_size)
        self.tags = tags
        self.cache = superpixels
        # Needed in every pass: where the images are in memory, so are their super-pixels, in two thirds of the space.
        self.settings = None if superpixels is None else superpixels.settings
        self._regions = images.kept(("super-pixels", self.settings))
        self._index = {sample.key: index for index, sample in enumerate(images.samples)}
        self.plan = [self.indices[start : start + batch] for start in range(0, len(self.indices), batch)]
        # Where images are in memory already, sending them between processes would cost more than it saves.
        self._loader = make_loader(_Stacks(images), self.plan, 0 if images.cached else workers)

    def __len__(self) -> int:
        """Batches of this process."""
        return len(self._loader)

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def without_images(self) -> Iterator[PassBatch]:
        """Tags and keys of the same batches; nothing is decoded."""
        return (self._named(indices, torch.empty(0)) for indices in self.plan)

    def after(self, batches: int) -> Iterator[PassBatch]:
        """The rest of a pass of which so many batches have been seen."""
        loader = self._loader if not batches else make_loader(_Stacks(self.images), self.plan[batches:], 0)
        for indices, images in results(loader):
            yield self._named(indices, to_unit(images, torch.float32))

    def _named(self, indices: Sequence[int], images: Tensor) -> PassBatch:
        samples = [self.images.samples[index] for index in indices]
        tags = torch.tensor([sample.tag for sample in samples]) if self.tags else None
        return PassBatch(images, tags, [sample.key for sample in samples])

    def superpixels(self, keys: Sequence[str]) -> Tensor:
        """int64 [B, H, W] of the images called `keys`."""
        return torch.stack([self._superpixels(key) for key in keys]).long()

    def place_of(self, key: str) -> int:
        """Where image `key` stands among this process's images."""
        return self.indices.index(self._index[key])

    def _superpixels(self, key: str) -> Tensor:
        if key in self._regions:
            return self._regions[key]
        regions = superpixels_of(self.images[self._index[key]].image, self._required_cache())
        if self.images.cached and int(regions.max()) < 2**15:
            self._regions[key] = regions.to(torch.int16)
        return regions

    def build_superpixels(self, progress: Progress | None = None, processes: int | None = None) -> int:
        """Compute this process's super-pixels that are not on disk yet; returns how many there were."""
        cache = self._required_cache()
        wanted = [index for index in self.indices if self.images.samples[index].key not in self._regions]
        return cache.build(_Arrays(self.images, wanted), progress, processes) if wanted else 0

    def _required_cache(self) -> SuperpixelCache:
        if self.cache is None:
            raise ConfigError("super-pixels were asked for, but this set was made without them; give it a cache.")
        return self.cache


@dataclass(frozen=True)
class _Stacks(Dataset[Stack | Failure]):
    """Indices -> (indices, images uint8 [B, 3, H, W])."""

    images: DecodedImages

    def __getitem__(self, indices: range) -> Stack | Failure:
        return caught(lambda: (list(indices), torch.stack([self.images[index].image for index in indices])))


@dataclass(frozen=True)
class _Arrays:
    """The images at `indices` as arrays uint8 [H, W, 3], which is how super-pixels are computed."""

    images: DecodedImages
    indices: Sequence[int]

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, place: int) -> NDArray[np.uint8]:
        pixels: NDArray[np.uint8] = self.images[self.indices[place]].image.permute(1, 2, 0).numpy()
        return pixels
