"""Where a pass keeps its predictions until the thresholds are known: low-resolution logits in half precision.

Small sets stay in memory.  Large ones go to files, a batch each (1.2 MB for a Cityscapes image with 19 classes, where
full probability maps would take 159 MB): memory does not grow with the set, and a pass that was stopped goes on.
"""

import io
import shutil
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from endotransfer.errors import CheckpointError
from endotransfer.files import write_atomically

LARGE = 512 * 2**20  # bytes of logits from which they go to disk
STRIDE = 8  # of the segmenters' logits


def logit_bytes(images: int, classes: int, size: tuple[int, int]) -> int:
    """What the logits of `images` images of `size` = (H, W) take."""
    height, width = (-(-side // STRIDE) for side in size)
    return images * classes * height * width * 2


class LogitShelf:
    """Batches of logits [B, K, h, w] float16 by number; in `folder`, or in memory where that is None."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._in_memory: dict[int, Tensor] = {}

    @property
    def whole(self) -> int:
        """How many batches, counted from the first, are there already."""
        number = 0
        while self._has(number):
            number += 1
        return number

    def put(self, number: int, logits: Tensor) -> None:
        """Keep a batch, given on the CPU."""
        if self.folder is None:
            self._in_memory[number] = logits
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.save(content, logits.numpy(), allow_pickle=False)
        write_atomically(self._path(number), content.getvalue(), CheckpointError)

    def get(self, number: int) -> Tensor:
        if self.folder is None:
            return self._in_memory[number]
        return torch.from_numpy(np.load(self._path(number), allow_pickle=False))

    def clear(self) -> None:
        self._in_memory.clear()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _has(self, number: int) -> bool:
        return number in self._in_memory if self.folder is None else self._path(number).is_file()

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:06d}.npy"
