"""Pixels on their way to the page: what is shown, small copies, and numbers packed into PNG files."""

import io
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.config import SuperpixelConfig
from endotransfer.data.class_colours import colour_table
from endotransfer.data.pipeline.superpixels import compute_superpixels
from endotransfer.data.read.decode import read_header
from endotransfer.data.read.read_image import read_image
from endotransfer.serve.memory import give_back

SHOWN_SIDE = 2048  # larger images are shown, predicted and drawn on in a smaller copy: a page must stay quick
LARGE = 10_000_000  # pixels; such images are decoded one after the other, or a few of them would fill the memory
_one_at_a_time = threading.Lock()
THUMBNAIL_SIDE = 160
FILL, LINE = 70, 255  # opacity of a mask over a thumbnail, inside and along its edge
SUPERPIXEL_SIDE = 640  # SLIC takes seconds beyond
SuperpixelSize = Literal["small", "medium", "large"]
SEGMENTS: dict[SuperpixelSize, int] = {"small": 4000, "medium": 1000, "large": 250}  # in an image of 512 x 512
Pixels = NDArray[np.uint8]


def read_shown(path: Path) -> tuple[Pixels, list[int]]:
    """The image at the size that is shown [h, w, 3], and its own size [H, W]."""
    with one_large_at_a_time(path):
        original = read_image(path)
        size = list(original.shape[:2])
        pixels = shrink(original, SHOWN_SIDE)
        if pixels is not original:
            del original
            give_back()
    return pixels, size


def one_large_at_a_time(path: Path) -> AbstractContextManager[object]:
    """Within, no second large file is decoded: that of the dearest format takes 0.7 GB for a moment."""
    header = read_header(path)
    return _one_at_a_time if header.height * header.width > LARGE else nullcontext()


def fit(size: Sequence[int], side: int) -> tuple[int, int]:
    """(H, W) scaled down, if need be, until the longer side is `side`."""
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def shrink(pixels: Pixels, side: int) -> Pixels:
    """An image [H, W, 3] no longer than `side` on either side."""
    height, width = fit(pixels.shape[:2], side)
    if (height, width) == pixels.shape[:2]:
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX))


def resize_labels(labels: Pixels, size: Sequence[int]) -> Pixels:
    """Class numbers [H, W] at another size, none of them invented."""
    if labels.shape == tuple(size):
        return labels
    return np.asarray(Image.fromarray(labels).resize((size[1], size[0]), Image.Resampling.NEAREST))


def as_jpeg(pixels: Pixels, quality: int = 92) -> bytes:
    return _saved(Image.fromarray(pixels), "JPEG", quality=quality)


def as_png(values: Pixels) -> bytes:
    return _saved(Image.fromarray(values), "PNG", compress_level=4)


def thumbnail(pixels: Pixels) -> bytes:
    return as_jpeg(shrink(pixels, THUMBNAIL_SIDE), 85)


def mask_thumbnail(labels: Pixels) -> bytes:
    """A mask [H, W] in its colours, to be laid over a thumbnail: clear where there is nothing."""
    small = resize_labels(labels, fit(labels.shape, THUMBNAIL_SIDE))
    inner = np.pad(small, 1, mode="edge")
    edge = (inner[:-2, 1:-1] != small) | (inner[2:, 1:-1] != small)
    edge |= (inner[1:-1, :-2] != small) | (inner[1:-1, 2:] != small)
    opacity = np.where(small == 0, 0, np.where(edge, LINE, FILL)).astype(np.uint8)
    return as_png(np.dstack([colour_table()[small], opacity]))


def superpixel_map(pixels: Pixels, size: SuperpixelSize = "medium") -> bytes:
    """The super-pixel of every pixel, its number in the three colours: red + 256 green + 65536 blue."""
    small = shrink(pixels, SUPERPIXEL_SIDE)
    regions = compute_superpixels(small, SuperpixelConfig(segments_at_512=SEGMENTS[size])).astype(np.uint32)
    packed = np.stack([(regions >> shift & 255).astype(np.uint8) for shift in (0, 8, 16)], axis=-1)
    height, width = pixels.shape[:2]
    if packed.shape[:2] != (height, width):
        packed = np.asarray(Image.fromarray(packed).resize((width, height), Image.Resampling.NEAREST))
    return as_png(packed)


def _saved(image: Image.Image, format: str, **options: int) -> bytes:
    content = io.BytesIO()
    image.save(content, format, **options)
    return content.getvalue()
