"""The order in which training sees samples, as a pure function of the step: no state to save or restore.

Pass e over the n samples of a stream is a permutation made from (seed, stream name, e), and position i of the
endless stream is entry i mod n of pass i div n.  However many workers or processes share the work, and
wherever a run is resumed, position i is the same sample under the same augmentation.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from endotransfer.errors import DataError


def stable_hash(*parts: int | str) -> int:
    """63 bits from `parts`, the same on every machine and in every process; Python's `hash` is salted."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def augmentation_seed(seed: int, stream: str, epoch: int, key: str) -> int:
    """The seed of all random changes to sample `key` in pass `epoch` of `stream`."""
    return stable_hash("augment", seed, stream, epoch, key)


@lru_cache(maxsize=32)
def permutation(seed: int, stream: str, epoch: int, length: int) -> NDArray[np.int64]:
    """Order of pass `epoch`: int64 [length].  Cached, since every step of a pass needs it."""
    # PCG64's raw words are fixed by definition; `Generator.permutation` may change with numpy's version.
    words = np.random.PCG64(stable_hash("order", seed, stream, epoch)).random_raw(length)
    order = np.argsort(words, kind="stable")
    order.setflags(write=False)
    return order


@dataclass(frozen=True)
class Order:
    """The endless order of one stream of `length` samples."""

    seed: int
    stream: str
    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise DataError(f"there is no image for '{self.stream}'; check the folders and the split it is made from.")

    def entry(self, position: int) -> tuple[int, int]:
        """`position` (0, 1, 2, ...) -> (pass, index of the sample)."""
        epoch, place = divmod(position, self.length)
        return epoch, int(permutation(self.seed, self.stream, epoch, self.length)[place])


class ClassOrder:
    """The endless order in which every class comes up equally often: K positions show K images, one chosen for each.

    Rare classes are seen as often as common ones.  `present` [N, K] says which sample shows which class; it is the
    whole index, made once.  Again a pure function of the position.
    """

    def __init__(self, seed: int, stream: str, present: NDArray[np.bool_]) -> None:
        self.seed, self.stream = seed, stream
        self.members = _members(stream, present)
        self.orders = [Order(seed, f"{stream}/class {k}", len(some)) for k, some in enumerate(self.members)]

    def entry(self, position: int) -> tuple[int, int]:
        """`position` -> (pass, index of the sample); the pass differs by class, so that augmentation does."""
        classes = len(self.members)
        block, place = divmod(position, classes)
        chosen = int(permutation(self.seed, f"{self.stream}/classes", block, classes)[place])
        epoch, member = self.orders[chosen].entry(block)
        return epoch * classes + chosen, int(self.members[chosen][member])


class RareClassOrder:
    """The endless order in which rare classes come up most: rare-class sampling of DAFormer (Hoyer et al., CVPR 2022).

    Each position draws a class with probability softmax((1 - f) / T), f_c the share of class c among the labelled
    pixels of all images, and then one of the images that show it, whatever was drawn before.  `class_pixels` [N, K]:
    pixels of each class in each sample.  Again a pure function of the position.
    """

    def __init__(self, seed: int, stream: str, class_pixels: NDArray[np.int64], temperature: float) -> None:
        self.seed, self.stream = seed, stream
        self.members = _members(stream, class_pixels > 0)
        pixels = class_pixels.sum(0)
        scores = (1 - pixels[pixels > 0] / pixels.sum()) / temperature
        weights = np.exp(scores - scores.max())
        self.chances: NDArray[np.float64] = weights / weights.sum()  # of the classes that any image shows

    def entry(self, position: int) -> tuple[int, int]:
        """`position` -> (pass, index of the sample); each position is a pass of its own, as augmentation goes."""
        # Raw words, as in `permutation`.
        first, second = np.random.PCG64(stable_hash("rare", self.seed, self.stream, position)).random_raw(2)
        chosen = int(np.searchsorted(self.chances.cumsum(), int(first) / 2**64, side="right"))
        members = self.members[min(chosen, len(self.members) - 1)]  # the chances may add up to a little less than 1
        return position, int(members[int(second) % len(members)])


def _members(stream: str, present: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """The samples that show each class, of the classes that any shows: `present` [N, K] says which does."""
    members = [np.flatnonzero(column) for column in present.T if column.any()]
    if not members:
        raise DataError(f"no image for '{stream}' shows any class; check the masks it is made from.")
    return members
