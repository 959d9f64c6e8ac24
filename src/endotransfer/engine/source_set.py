"""The labelled source as `prepare` sees it: whole, unaugmented, on the device, the same in every process."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from endotransfer.batch import SourceBatch
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.distributed import rank, world_size


@dataclass
class WholeSource:
    images: DecodedImages
    batch: int
    tags: bool
    device: torch.device
    dtype: torch.dtype
    cache: SuperpixelCache | None = None

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[SourceBatch]:
        for first in range(0, len(self.images), self.batch):
            yield to_device(
                self._read(range(first, min(first + self.batch, len(self.images)))), self.device, self.dtype
            )

    def superpixels(self, keys: list[str]) -> Tensor:
        """int64 [B, H, W] of the images called `keys`."""
        return self._regions.superpixels(keys).to(self.device)

    @cached_property
    def _regions(self) -> PassSet:
        """All are computed when the first are asked for, in parallel and each process its share: most never ask."""
        whole = PassSet(
            self.images, batch=self.batch, rank=rank(), world_size=world_size(), tags=self.tags, superpixels=self.cache
        )
        whole.build_superpixels()
        return whole

    def _read(self, indices: range) -> SourceBatch:
        pictures = [self.images[index] for index in indices]
        samples = [self.images.samples[index] for index in indices]
        masks = [picture.mask for picture in pictures if picture.mask is not None]
        tags = torch.tensor([sample.tag for sample in samples]) if self.tags else None
        images = torch.stack([picture.image for picture in pictures])
        return SourceBatch(images, torch.stack(masks), tags, [sample.key for sample in samples])
