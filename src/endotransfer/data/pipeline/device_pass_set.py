"""A pass over a set that is on the GPU already: nothing is copied, and super-pixels stay there between passes."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from endotransfer.batch import PassBatch
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.superpixel_cache import Progress

READERS = 8  # threads that read super-pixels


class DevicePassSet:
    """`pass_set` with its images on `device`; batches hold bytes, which `to_device` converts to floats."""

    def __init__(self, pass_set: PassSet, device: torch.device) -> None:
        self.pass_set, self.device = pass_set, device
        self.pixels, _ = pass_set.images.on(device)
        self.tags = torch.tensor([sample.tag for sample in pass_set.images.samples], device=device)

    @property
    def images(self) -> DecodedImages:
        return self.pass_set.images

    def __len__(self) -> int:
        return len(self.pass_set)

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def without_images(self) -> Iterator[PassBatch]:
        return self.pass_set.without_images()

    def after(self, batches: int) -> Iterator[PassBatch]:
        for indices in self.pass_set.plan[batches:]:
            chosen = torch.tensor(list(indices)).to(self.device, non_blocking=True)
            keys = [self.images.samples[index].key for index in indices]
            yield PassBatch(self.pixels[chosen], self.tags[chosen] if self.pass_set.tags else None, keys)

    def superpixels(self, keys: Sequence[str]) -> Tensor:
        """int32 [B, H, W] of the images called `keys`."""
        regions = self.images.kept(("super-pixels", self.pass_set.settings, self.device, self.pass_set.indices))
        if "all" not in regions:
            regions["all"] = self._read_all()
        places = torch.tensor([self.pass_set.place_of(key) for key in keys])
        return regions["all"][places.to(self.device, non_blocking=True)]

    def build_superpixels(self, progress: Progress | None = None, processes: int | None = None) -> int:
        return self.pass_set.build_superpixels(progress, processes)

    def _read_all(self) -> Tensor:
        """int32 [N, H, W] of this process's images, in the order of its indices."""
        keys = [self.images.samples[index].key for index in self.pass_set.indices]
        with ThreadPoolExecutor(READERS) as readers:
            maps = list(readers.map(lambda key: self.pass_set.superpixels([key])[0].int(), keys))
        return torch.stack(maps).to(self.device)
