"""Super-pixels on disk: computed once for each image and setting, then read."""

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from endotransfer.config import SuperpixelConfig
from endotransfer.data.pipeline.superpixel_file import (
    DIGEST,
    FORMAT,
    decode_regions,
    encode_regions,
    largest_file,
)
from endotransfer.data.pipeline.superpixels import Regions, compute_superpixels
from endotransfer.errors import DataError
from endotransfer.io import open_regular, write_atomically
from endotransfer.paths import cache_root, make_cache_folder

Progress = Callable[[int, int], None]  # (done, total)


class ImageLoader(Protocol):
    """Anything like a list of uint8 [H, W, 3] images; an image may be decoded only when it is asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NDArray[np.uint8]: ...


def cache_folder() -> Path:
    """The default cache folder: $ENDOTRANSFER_CACHE, or ~/.cache/endotransfer, and in it `superpixels`."""
    return cache_root() / "superpixels"


class SuperpixelCache:
    """Super-pixels looked up by the content of the image: equal pixels and settings are computed once.

    Several processes may use one folder at once: a file is whole or absent, and all write the same bytes.
    """

    def __init__(self, folder: Path | None = None, settings: SuperpixelConfig | None = None) -> None:
        self.folder = folder or cache_folder()
        self.settings = settings or SuperpixelConfig()

    def get(self, image: NDArray[np.uint8]) -> Regions:
        """Super-pixels of `image` uint8 [H, W, 3]: int32 [H, W]."""
        return self._get(image)[0]

    def build(self, images: ImageLoader, progress: Progress | None = None, processes: int | None = None) -> int:
        """Make sure that every image's super-pixels are on disk; returns how many had to be computed."""
        total, computed = len(images), 0
        processes = min(processes or os.cpu_count() or 1, total)
        for done, new in enumerate(self._ensure_all(images, processes), 1):
            computed += new
            if progress:
                progress(done, total)
        return computed

    def path(self, image: NDArray[np.uint8]) -> Path:
        """The cache file of `image`: its name says all that its content depends on."""
        settings = (image.shape, self.settings.segments_at_512, self.settings.compactness)
        name = blake2b(FORMAT + repr(settings).encode(), digest_size=DIGEST)
        name.update(np.ascontiguousarray(image).data)
        return self.folder / name.hexdigest()[:2] / name.hexdigest()

    def _get(self, image: NDArray[np.uint8]) -> tuple[Regions, bool]:
        """(super-pixels, whether they had to be computed)."""
        height, width = image.shape[:2]
        path = self.path(image)
        stored = _read(path, height, width)
        if stored is not None:
            return stored, False
        data = encode_regions(compute_superpixels(image, self.settings))
        make_cache_folder(path.parent)
        write_atomically(path, data, DataError)
        fresh = decode_regions(data, height, width)  # numbered as when it is read: a first run equals a second
        assert fresh is not None
        return fresh, True

    def _ensure_all(self, images: ImageLoader, processes: int) -> Iterator[bool]:
        if processes <= 1:
            yield from (self._get(images[index])[1] for index in range(len(images)))
            return
        # Processes, as SLIC holds Python's lock; forked, so that decoded images are shared and not copied.
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
        with ProcessPoolExecutor(processes, context, _assign, (self, images)) as pool:
            yield from pool.map(_ensure, range(len(images)), chunksize=4)


_assigned: tuple[SuperpixelCache, ImageLoader] | None = None  # in a worker process of `build`


def _assign(cache: SuperpixelCache, images: ImageLoader) -> None:
    global _assigned
    _assigned = (cache, images)


def _ensure(index: int) -> bool:
    assert _assigned is not None
    cache, images = _assigned
    return cache._get(images[index])[1]


def _read(path: Path, height: int, width: int) -> Regions | None:
    try:
        with open_regular(path) as file:
            return decode_regions(file.read(largest_file(height, width)), height, width)
    except OSError:  # absent or unreadable: it is computed again
        return None
