"""Fingerprints of images: equal pixels by digest, similar images by a perceptual hash."""

from dataclasses import dataclass
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.fft import dctn
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from endotransfer.data.inspect.alignment import Texture, alikeness, texture

SIDE = 32  # of the thumbnail
_LOW = 16  # lowest frequencies of each direction that enter the hash
_BLOCK = 4_000_000  # pairs compared at a time: bounds memory, not the number of images
_FLAT = 2.0  # grey values; an image that varies less has no structure to compare
# Limits looked at pair by pair on six public sets of endoscopy.  Of the 255 bits of two pictures, up to 28 differ only
# between copies; up to 64 between frames of one moment, but also between scenes behind the same black frame, which
# the alikeness of their tissue tells apart.
SAME = 25
PERHAPS = 64
ALIKE = 0.8


@dataclass(frozen=True)
class Prints:
    """What images are compared by."""

    digest: str
    bits: NDArray[np.uint64]  # [4]: 255 bits of hash
    thumbnail: NDArray[np.uint8]  # [SIDE, SIDE, 3]
    texture: Texture  # [SIDE, SIDE]
    flat: bool


def take_prints(pixels: NDArray[np.uint8]) -> Prints:
    """Fingerprints of an image [H, W, 3]."""
    thumbnail = np.asarray(Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BOX))
    # A checksum of all pixels is six times quicker than a digest, and with the thumbnail's as good as one.
    seen = f"{pixels.shape} {crc32(np.ascontiguousarray(pixels).data)} ".encode() + thumbnail.tobytes()
    digest = blake2b(seen, digest_size=16).hexdigest()
    grey = thumbnail @ np.array([0.299, 0.587, 0.114])
    return Prints(digest, perceptual_hash(grey), thumbnail, texture(thumbnail), bool(grey.std() < _FLAT))


def perceptual_hash(grey: NDArray[np.float64]) -> NDArray[np.uint64]:
    """255 bits as 4 words: which low cosine frequencies of `grey` [SIDE, SIDE] lie above their median.

    The mean brightness is left out; being above the median survives scaling, contrast and compression.
    """
    low = dctn(grey, norm="ortho")[:_LOW, :_LOW].ravel()[1:]
    bits = np.append(low > np.median(low), False)
    return np.packbits(bits).view(np.uint64)


def near_pairs(bits: NDArray[np.uint64], limit: int) -> NDArray[np.intp]:
    """All pairs i < j, [P, 2], of rows of `bits` [N, W] that differ in at most `limit` bits."""
    count = len(bits)
    step = max(1, _BLOCK // max(1, count))
    found = [np.empty((0, 2), np.intp)]
    for start in range(0, count, step):
        block = bits[start : start + step]
        distance = np.zeros((len(block), count), np.uint16)
        for word in range(bits.shape[1]):
            distance += np.bitwise_count(block[:, word, None] ^ bits[None, :, word])
        first, second = np.nonzero(distance <= limit)
        later = second > first + start
        found.append(np.stack([first[later] + start, second[later]], axis=1))
    return np.concatenate(found)


def components(count: int, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each of `count` things the group that `pairs` [P, 2] tie it into, numbered by first member."""
    graph = coo_matrix((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def similar(prints: list[Prints]) -> NDArray[np.intp]:
    """Pairs [P, 2] of images with equal pixels, or that show the same moment."""
    first: dict[str, int] = {}
    equal = [(first.setdefault(one.digest, i), i) for i, one in enumerate(prints)]
    copies = np.array([pair for pair in equal if pair[0] != pair[1]], np.intp).reshape(-1, 2)
    structured = np.flatnonzero([not one.flat for one in prints])
    if not structured.size:
        return copies
    return np.concatenate([structured[_same_moment([prints[i] for i in structured])], copies])


def _same_moment(prints: list[Prints]) -> NDArray[np.intp]:
    """Pairs that differ in a few bits, or in some more where their tissue is alike."""
    bits = np.stack([one.bits for one in prints])
    pairs = near_pairs(bits, PERHAPS)
    near = np.bitwise_count(bits[pairs[:, 0]] ^ bits[pairs[:, 1]]).sum(axis=1) <= SAME
    near[~near] = alikeness(np.stack([one.texture for one in prints]), pairs[~near]) >= ALIKE
    found: NDArray[np.intp] = pairs[near]
    return found
