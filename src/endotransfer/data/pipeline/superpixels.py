"""Super-pixels (SLIC), computed once per image and settings and kept on disk.

The paper votes among the pixels of a super-pixel (Algorithm 2) and leaves SLIC's settings open.
"""

import multiprocessing
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.ndimage import label
from skimage.segmentation import slic

from endotransfer.batch import IGNORE
from endotransfer.errors import DataError
from endotransfer.io import write_atomically

FORMAT = b"endotransfer-superpixels-1\n"  # first bytes of a cache file, and part of its name
DIGEST = 16  # bytes of every checksum here

Progress = Callable[[int, int], None]  # (done, total)


class ImageLoader(Protocol):
    """Anything like a list of uint8 [H, W, 3] images; an image may be decoded only when it is asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> np.ndarray: ...


@dataclass(frozen=True)
class SuperpixelSettings:
    """SLIC's settings, independent of the working size."""

    # PAPER: no settings are given; `choose_settings` finds others on source masks.

    segments_at_512: int = 1000  # in an image of 512 x 512; scaled with the area, so a segment's size stays the same
    compactness: float = 10.0
    sigma: float = 0.0

    def segments(self, height: int, width: int) -> int:
        return max(1, round(self.segments_at_512 * height * width / 512**2))


def compute(image: np.ndarray, settings: SuperpixelSettings) -> np.ndarray:
    """SLIC of `image` uint8 [H, W, 3]: int32 [H, W]; every region is 4-connected."""
    regions = slic(
        image,
        n_segments=settings.segments(*image.shape[:2]),
        compactness=settings.compactness,
        sigma=settings.sigma,
        enforce_connectivity=True,
        channel_axis=-1,
        start_label=0,
    )
    return regions.astype(np.int32)


# -- the file: borders between neighbours, one bit each -------------------------------------------------


def encode(regions: np.ndarray) -> bytes:
    """4-connected regions [H, W] -> about 4 % of the image's own bytes."""
    right, down = regions[:, 1:] == regions[:, :-1], regions[1:] == regions[:-1]
    content = zlib.compress(np.packbits(np.concatenate([right.ravel(), down.ravel()])).tobytes(), 9)
    return FORMAT + blake2b(content, digest_size=DIGEST).digest() + content


def decode(data: bytes, height: int, width: int) -> np.ndarray | None:
    """What `encode` was given, numbered by first pixel: int32 [H, W].  None where `data` is not whole."""
    head, content = data[: len(FORMAT) + DIGEST], data[len(FORMAT) + DIGEST :]
    if head != FORMAT + blake2b(content, digest_size=DIGEST).digest():
        return None
    split, count = height * (width - 1), height * (width - 1) + (height - 1) * width
    bits = np.unpackbits(np.frombuffer(zlib.decompress(content), np.uint8), count=count)
    # Pixels and the links between them on a grid of double fineness: one labelling finds the regions.
    grid = np.zeros((2 * height - 1, 2 * width - 1), np.uint8)
    grid[::2, ::2] = 1
    grid[::2, 1::2] = bits[:split].reshape(height, width - 1)
    grid[1::2, ::2] = bits[split:].reshape(height - 1, width)
    regions, _ = label(grid)
    return np.ascontiguousarray(regions[::2, ::2], np.int32) - 1


# -- the cache ------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where computed things are kept: the folder ENDOTRANSFER_CACHE names, or one in the user's home."""
    root = os.environ.get("ENDOTRANSFER_CACHE") or Path.home() / ".cache" / "endotransfer"
    return Path(root) / "superpixels"


class SuperpixelCache:
    """Super-pixels by content: the same pixels under the same settings are computed once, whoever asks.

    Several processes may use one folder at once: a file is whole or absent, and all write the same bytes.
    """

    def __init__(self, folder: Path | None = None, settings: SuperpixelSettings | None = None) -> None:
        self.folder = folder or cache_folder()
        self.settings = settings or SuperpixelSettings()

    def get(self, image: np.ndarray) -> np.ndarray:
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

    def path(self, image: np.ndarray) -> Path:
        """The cache file of `image`: its name says all that its content depends on."""
        name = blake2b(FORMAT + repr((image.shape, astuple(self.settings))).encode(), digest_size=DIGEST)
        name.update(np.ascontiguousarray(image).data)
        return self.folder / name.hexdigest()[:2] / name.hexdigest()

    def _get(self, image: np.ndarray) -> tuple[np.ndarray, bool]:
        """(super-pixels, whether they had to be computed)."""
        height, width = image.shape[:2]
        path = self.path(image)
        kept = _read(path, height, width)
        if kept is not None:
            return kept, False
        data = encode(compute(image, self.settings))
        _make_folder(path.parent)
        write_atomically(path, data, DataError)
        fresh = decode(data, height, width)  # numbered as a later reading will be: a first run equals a second
        assert fresh is not None
        return fresh, True

    def _ensure_all(self, images: ImageLoader, processes: int) -> Iterator[bool]:
        if processes <= 1:
            yield from (self._get(images[index])[1] for index in range(len(images)))
            return
        # Processes, as SLIC holds Python's lock; forked, so that decoded images are shared and not copied.
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
        with ProcessPoolExecutor(processes, context, _adopt, (self, images)) as pool:
            yield from pool.map(_ensure, range(len(images)), chunksize=4)


_adopted: tuple[SuperpixelCache, ImageLoader] | None = None  # in a process of `build`: what it works on


def _adopt(cache: SuperpixelCache, images: ImageLoader) -> None:
    global _adopted
    _adopted = (cache, images)


def _ensure(index: int) -> bool:
    assert _adopted is not None
    cache, images = _adopted
    return cache._get(images[index])[1]


def _read(path: Path, height: int, width: int) -> np.ndarray | None:
    try:
        return decode(path.read_bytes(), height, width)
    except OSError:  # not there, or not for us to read: it can be made again
        return None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        fix = "set ENDOTRANSFER_CACHE to a folder of yours"
        raise DataError(f"cannot make the cache folder {folder}: {reason.strerror}; {fix}.") from reason


# -- choosing settings ----------------------------------------------------------------------------------


def oracle_counts(superpixels: np.ndarray, mask: np.ndarray) -> tuple[int, int]:
    """(right, labelled) pixels when each super-pixel takes the commonest label of `mask` [H, W] within it."""
    labelled = mask != IGNORE
    _, region = np.unique(superpixels[labelled], return_inverse=True)
    classes, label_index = np.unique(mask[labelled], return_inverse=True)
    if not classes.size:
        return 0, 0
    votes = np.bincount(region * classes.size + label_index).astype(np.int64)
    votes = np.pad(votes, (0, -votes.size % classes.size)).reshape(-1, classes.size)
    return int(votes.max(axis=1).sum()), int(labelled.sum())


def oracle_accuracy(superpixels: np.ndarray, mask: np.ndarray) -> float:
    """Best pixel accuracy that one label per super-pixel can reach; NaN where nothing is labelled."""
    right, labelled = oracle_counts(superpixels, mask)
    return right / labelled if labelled else float("nan")


def choose_settings(
    images: ImageLoader,
    masks: Sequence[np.ndarray],
    candidates: Sequence[SuperpixelSettings],
    tolerance: float = 0.002,
) -> SuperpixelSettings:
    """The candidate whose oracle labelling of SOURCE masks is most accurate over all labelled pixels.

    Ever smaller segments are ever more accurate and carry a vote ever less far, so among candidates within
    `tolerance` of the best the one with the fewest segments is taken, then the more accurate.
    """
    scores = [_oracle_over(images, masks, settings) for settings in candidates]
    good = [pair for pair in zip(scores, candidates, strict=True) if pair[0] >= max(scores) - tolerance]
    return min(good, key=lambda pair: (pair[1].segments_at_512, -pair[0]))[1]


def _oracle_over(images: ImageLoader, masks: Sequence[np.ndarray], settings: SuperpixelSettings) -> float:
    counts = [oracle_counts(compute(images[index], settings), masks[index]) for index in range(len(images))]
    right, labelled = np.sum(counts, axis=0)
    return float(right / max(labelled, 1))
