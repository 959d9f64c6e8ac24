"""What a pass over the target set gets to see, and where it leaves its labels."""

from collections.abc import Iterator
from typing import Protocol

from torch import Tensor

from endotransfer.batch import PassBatch
from endotransfer.pseudo_labels.logit_cache import LogitCache


class TargetSet(Protocol):
    """This process's share of the whole, unaugmented target set."""

    @property
    def size(self) -> tuple[int, int]: ...  # (H, W) of every image
    @property
    def total(self) -> int: ...  # images of all processes
    def __iter__(self) -> Iterator[PassBatch]: ...
    def without_images(self) -> Iterator[PassBatch]: ...  # tags and keys of the same batches; nothing is decoded
    def after(self, batches: int) -> Iterator[PassBatch]: ...  # the rest, when so many have been seen
    def superpixels(self, keys: list[str]) -> Tensor: ...  # [B, H, W]
    def store(self, keys: list[str], maps: Tensor) -> None: ...  # [B, H, W] uint8

    def logit_cache(self, channels: int) -> LogitCache:
        """Where predictions wait for the thresholds; batches that are in it already are not predicted again."""
        ...
