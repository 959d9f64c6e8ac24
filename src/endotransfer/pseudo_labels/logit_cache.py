"""Where a pass keeps its predictions until the thresholds are known: low-resolution logits in half precision.

Small sets stay in memory, a GPU's while that has room.  Large ones go to files, a batch each (1.2 MB for a Cityscapes
image with 19 classes, where full probability maps would take 159 MB): memory does not grow with the set, and a pass
that was stopped goes on.  While a pass predicts, a thread writes them, one after the other: a GPU would wait for the
disk otherwise.  Copies to the host go into pinned memory behind its back (`host_copy.py`).
"""

import io
import shutil
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.errors import CheckpointError
from endotransfer.io import write_atomically

LARGE = 512 * 2**20  # bytes of logits from which they go to disk
STRIDE = 8  # of the segmenters' logits
GPU_SHARE = 0.1  # of a GPU's free memory that logits may take
MOST_WAITING = 4  # batches that may wait to be written


def logit_bytes(images: int, classes: int, size: tuple[int, int]) -> int:
    """What the logits of `images` images of `size` = (H, W) take."""
    height, width = (-(-side // STRIDE) for side in size)
    return images * classes * height * width * 2


class LogitCache:
    """Batches of logits [B, K, h, w] float16 by number; in `folder`, or in memory where that is None."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._in_memory: dict[int, HostCopy | Tensor] = {}
        self._room: int | None = None  # bytes that may still stay on the GPU
        self._writer: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[None]] = deque()

    @property
    def whole(self) -> int:
        """How many batches, counted from the first, are there already."""
        number = 0
        while self._has(number):
            number += 1
        return number

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is put meanwhile is written by a thread; in the end, also after an error, nobody writes any more."""
        try:
            with ThreadPoolExecutor(1) as self._writer:
                yield
                self._wait_until(0)
        finally:
            self._writer = None
            self._waiting.clear()

    def put(self, number: int, logits: Tensor) -> None:
        """Keep a batch, not changed any more; no GPU waits for it.

        While `writing`, one that could not be written makes a later call fail, or the end of it.
        """
        if self.folder is None:
            self._in_memory[number] = logits if self._stays(logits) else HostCopy(logits)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        copy = HostCopy(logits)
        if self._writer is None:
            _write(self._path(number), copy.get())
            return
        self._wait_until(MOST_WAITING - 1)
        self._waiting.append(self._writer.submit(lambda: _write(self._path(number), copy.get())))

    def get(self, number: int) -> Tensor:
        """The batch where it lies: on the GPU, or on the host."""
        if self.folder is None:
            kept = self._in_memory[number]
            return kept.get() if isinstance(kept, HostCopy) else kept
        return torch.from_numpy(np.load(self._path(number), allow_pickle=False))

    def _stays(self, logits: Tensor) -> bool:
        """Whether a batch stays on the GPU, which is quicker than to the host and back."""
        if not logits.is_cuda:
            return True
        if self._room is None:  # pragma: needs cuda
            self._room = int(GPU_SHARE * torch.cuda.mem_get_info(logits.device)[0])
        self._room -= logits.nbytes  # pragma: needs cuda
        return self._room >= 0  # pragma: needs cuda

    def clear(self) -> None:
        self._in_memory.clear()
        self._room = None
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until(self, waiting: int) -> None:
        """Until no more than so many batches wait."""
        while len(self._waiting) > waiting:
            self._waiting.popleft().result()

    def _has(self, number: int) -> bool:
        return number in self._in_memory if self.folder is None else self._path(number).is_file()

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:06d}.npy"


def _write(path: Path, logits: Tensor) -> None:
    content = io.BytesIO()
    np.save(content, logits.numpy(), allow_pickle=False)
    write_atomically(path, content.getvalue(), CheckpointError)
