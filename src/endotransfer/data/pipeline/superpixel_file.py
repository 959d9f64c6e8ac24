"""Super-pixels as bytes: one bit for each pair of neighbouring pixels, compressed, with a checksum."""

import zlib
from hashlib import blake2b

import numpy as np
from scipy.ndimage import label

from endotransfer.data.pipeline.superpixels import Regions

FORMAT = b"endotransfer-superpixels-1\n"  # first bytes of a file
DIGEST = 16  # bytes of the checksum


def encode_regions(regions: Regions) -> bytes:
    """Bytes for 4-connected regions [H, W], about 4 % of the size of the image itself."""
    right, down = regions[:, 1:] == regions[:, :-1], regions[1:] == regions[:-1]
    content = zlib.compress(np.packbits(np.concatenate([right.ravel(), down.ravel()])).tobytes(), 9)
    return FORMAT + blake2b(content, digest_size=DIGEST).digest() + content


def decode_regions(data: bytes, height: int, width: int) -> Regions | None:
    """The encoded regions, numbered by first pixel: int32 [H, W].  None if `data` is damaged, or of another size."""
    head, content = data[: len(FORMAT) + DIGEST], data[len(FORMAT) + DIGEST :]
    if head != FORMAT + blake2b(content, digest_size=DIGEST).digest():
        return None
    split, count = height * (width - 1), height * (width - 1) + (height - 1) * width
    packed = _unpacked(content, -(-count // 8))
    if packed is None:
        return None
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=count)
    # Pixels and the links between them on a grid of twice the resolution: one labelling finds the regions.
    grid = np.zeros((2 * height - 1, 2 * width - 1), np.uint8)
    grid[::2, ::2] = 1
    grid[::2, 1::2] = bits[:split].reshape(height, width - 1)
    grid[1::2, ::2] = bits[split:].reshape(height - 1, width)
    regions, _ = label(grid)
    return np.ascontiguousarray(regions[::2, ::2], np.int32) - 1


def largest_file(height: int, width: int) -> int:
    """Bytes that no file of an image of this size exceeds."""
    return len(FORMAT) + DIGEST + height * width + 1024


def _unpacked(content: bytes, length: int) -> bytes | None:
    """Exactly `length` bytes; what would be more is never unpacked."""
    try:
        found = zlib.decompressobj().decompress(content, length + 1)
    except zlib.error:
        return None
    return found if len(found) == length else None
