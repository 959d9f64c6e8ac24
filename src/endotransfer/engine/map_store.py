"""Maps that a target pass stores, one PNG an image and one folder a pass: `maps/epoch-0003/<folder>/<image>.png`.

A pass appears under its name only when it is whole, so a killed one leaves nothing that a resumed run could trust.
"""

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from endotransfer.errors import CheckpointError

MOST_WAITING = 256  # maps that may wait to be written
WRITERS = 8  # threads: to compress a map takes longer than a GPU takes to make it


class MapStore:
    """Writes and reads the maps of one run, by epoch: class index by pixel, IGNORE where there is no label."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writers = ThreadPoolExecutor(WRITERS)
        self._pending: list[Future[None]] = []
        self._open: Path | None = None

    def open_pass(self, epoch: int) -> None:
        self._open = self.folder / f".epoch-{epoch:04d}.part"
        self._open.mkdir(parents=True, exist_ok=True)

    def store(self, keys: list[str], maps: Tensor) -> None:
        """Queue `maps` [B, H, W] uint8 for writing in the open pass."""
        assert self._open is not None
        while len(self._pending) > MOST_WAITING:  # a slow disk must not fill the memory
            self._wait_for(self._pending.pop(0))
        for key, values in zip(keys, maps.cpu().numpy(), strict=True):
            self._pending.append(self._writers.submit(_write, self._open / f"{key}.png", values))

    def flush(self) -> None:
        """Wait for this process's maps to be on disk."""
        pending, self._pending = self._pending, []
        for future in pending:
            self._wait_for(future)

    def _wait_for(self, written: Future[None]) -> None:
        try:
            written.result()
        except OSError as reason:
            raise CheckpointError(
                f"cannot write maps under {self.folder}: {reason}; free space and resume."
            ) from reason

    def close_pass(self, epoch: int) -> Path:
        """Give the pass its name and return its folder.  Called once all processes have flushed."""
        assert self._open is not None
        final = self._folder_of(epoch)
        shutil.rmtree(final, ignore_errors=True)
        self._open.rename(final)
        return final

    def forget_before(self, epoch: int) -> None:
        """Remove passes that no checkpoint on disk can go back to."""
        for folder in self.folder.glob("epoch-*"):
            if int(folder.name.removeprefix("epoch-")) < epoch:
                shutil.rmtree(folder, ignore_errors=True)

    def read(self, epoch: int, key: str) -> NDArray[np.uint8]:
        """The map [H, W] that the pass before `epoch` stored for image `key`."""
        path = self._folder_of(epoch) / f"{key}.png"
        try:
            with Image.open(path, formats=["PNG"]) as image:
                return np.asarray(image, dtype=np.uint8)
        except (OSError, SyntaxError) as reason:
            raise CheckpointError(
                f"the stored map {path} is missing or damaged; delete the newest checkpoint and resume."
            ) from reason

    def _folder_of(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:04d}"

    def __getstate__(self) -> dict[str, Path]:
        return {"folder": self.folder}  # loader processes only read

    def __setstate__(self, state: dict[str, Path]) -> None:
        self.__init__(state["folder"])  # type: ignore[misc]


def _write(path: Path, values: NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values).save(path, compress_level=1)
