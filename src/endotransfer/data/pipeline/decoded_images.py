"""Images and masks at the working size, decoded and resized once and cached in memory where they fit."""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.pixel_cache import PixelCache
from endotransfer.data.pipeline.working_size import resize_image, resize_mask
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.data.read.read_image import read_image_and_notes
from endotransfer.label_values import IGNORE
from endotransfer.samples import Sample

Progress = Callable[[int, int], None]  # (done, total)
Cache = bool | Literal["auto", "always", "never"]


@dataclass(frozen=True)
class DecodedPicture:
    """One image at the working size, with its mask where masks are read at all."""

    image: Tensor  # uint8 [3, H, W]
    mask: Tensor | None = None  # uint8 [H, W], IGNORE where unlabelled


class DecodedImages:
    """The images of `samples` at `size` = (H, W), and with `masks=True` their masks.

    With `masks=False` no mask file is ever opened: that is how target training masks stay unread.
    `cache="auto"` caches everything in memory where it takes at most `memory_share` of what is free; what is cached in
    memory is also looked up on, and left on, the `disk`, for the next run.  Forked
    loader processes share these tensors without a copy, and without the small /dev/shm of many containers.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        size: tuple[int, int],
        classes: Classes,
        *,
        masks: bool,
        cache: Cache = "auto",
        threads: int | None = None,
        progress: Progress | None = None,
        memory_share: float = 0.5,
        keep_contradictions: bool = False,
        disk: PixelCache | None = None,
    ) -> None:
        self.samples = tuple(samples)
        self.size = size
        self.classes = classes
        self.masks = masks
        self.keep_contradictions = keep_contradictions
        self.notes: Counter[str] = Counter()  # conversion -> number of files
        fits = self.bytes <= memory_share * free_memory()
        self.cached = fits if cache == "auto" else cache in (True, "always")
        self._disk = disk if disk is not None and self.cached and disk.takes(self.bytes) else None
        cached = len(self.samples) if self.cached else 0
        self._images = torch.empty((cached, 3, *size), dtype=torch.uint8)
        self._masks = torch.empty((cached if masks else 0, *size), dtype=torch.uint8)
        # Pixels of each class in each image, [N, K]: what sampling by class needs, counted while masks are read.
        self.class_pixels = np.zeros((len(self.samples) if masks else 0, len(classes)), np.int64)
        self._on: dict[torch.device, tuple[Tensor, Tensor | None]] = {}
        self._kept: dict[Hashable, dict[str, Tensor]] = {}
        # Masks are read once even if they are not cached, so that faults and conversions show before training.
        if self.cached or masks:
            self._visit_all(threads or os.cpu_count() or 1, progress)

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def bytes(self) -> int:
        """Memory that caching everything takes."""
        return len(self.samples) * self.size[0] * self.size[1] * (4 if self.masks else 3)

    def __getitem__(self, index: int) -> DecodedPicture:
        if self.cached:
            return DecodedPicture(self._images[index], self._masks[index] if self.masks else None)
        return self._decode(index)[0]

    def on(self, device: torch.device) -> tuple[Tensor, Tensor | None]:
        """All images [N, 3, H, W] and masks [N, H, W] as bytes on `device`, moved once; only where they are cached."""
        assert self.cached
        if device not in self._on:
            self._on[device] = self._images.to(device), self._masks.to(device) if self.masks else None
        return self._on[device]

    def kept(self, what: Hashable) -> dict[str, Tensor]:
        """Maps by an image's key that were computed from these images: runs that share them share these as well."""
        return self._kept.setdefault(what, {})

    def _visit_all(self, threads: int, progress: Progress | None) -> None:
        with ThreadPoolExecutor(threads) as pool:  # decoding and resizing leave Python's lock
            for done, notes in enumerate(pool.map(self._visit, range(len(self))), 1):
                self.notes.update(notes)
                if progress:
                    progress(done, len(self))
        if self._disk is not None:
            self._disk.trim()

    def _visit(self, index: int) -> set[str]:
        picture, notes = self._decode(index)
        if self.cached:
            self._images[index] = picture.image
        if picture.mask is not None:
            pixels = np.bincount(picture.mask.numpy().ravel(), minlength=IGNORE + 1)
            self.class_pixels[index] = pixels[: len(self.classes)]
            if self.cached:
                self._masks[index] = picture.mask
        return notes

    def _decode(self, index: int) -> tuple[DecodedPicture, set[str]]:
        """The image, and one sentence for each conversion made while reading it; looked up where that is quicker."""
        sample, disk = self.samples[index], self._disk
        if disk is None:
            return self._read(sample)
        name = disk.name(sample, self.size, self.classes if self.masks else None, self.keep_contradictions)
        if name is None:
            return self._read(sample)
        if (known := disk.get(name, self.size, masks=self.masks)) is not None:
            (image, mask), notes = known
            return DecodedPicture(_tensor(image), None if mask is None else _tensor(mask)), notes
        picture, notes = self._read(sample)
        disk.put(name, (picture.image.numpy(), None if picture.mask is None else picture.mask.numpy()), notes)
        return picture, notes

    def _read(self, sample: Sample) -> tuple[DecodedPicture, set[str]]:
        reading = read_image_and_notes(sample.image)
        image = torch.from_numpy(resize_image(reading.pixels, self.size)).permute(2, 0, 1).contiguous()
        if not self.masks:
            return DecodedPicture(image), set(reading.notes)
        height, width, _ = reading.pixels.shape
        truth = read_checked_mask(sample, (height, width), self.classes, keep_contradictions=self.keep_contradictions)
        resized = torch.from_numpy(resize_mask(truth.mask, self.size))
        return DecodedPicture(image, resized), {*reading.notes, *truth.notes}


def _tensor(values: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(values.copy())  # what was read from a file may not be written to


def free_memory(meminfo: Path = Path("/proc/meminfo"), limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Bytes of memory that are available: by the system's account, or a container's limit."""
    try:
        lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        available = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError):  # not Linux
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    try:
        return min(available, int(limit.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return available
