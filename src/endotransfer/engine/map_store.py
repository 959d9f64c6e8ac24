"""Maps that a target pass stores, one PNG an image and one folder a pass: `maps/epoch-0003/<folder>/<image>.png`.

A pass appears under its name only when it is whole, so a killed one leaves nothing that a resumed run could trust.
"""

import io
import os
import shutil
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.engine.map_index import Digests, digest_of_map, join_shares, read_index, read_map, write_share
from endotransfer.errors import CheckpointError
from endotransfer.io import sync

AGAIN = "start the run again with --force"
GREY_LEVELS = bytes(level for level in range(256) for _ in "RGB")
MOST_WAITING = 256  # maps that may wait to be written
WRITERS = max(4, min(16, os.cpu_count() or 1))  # threads: to compress a map takes longer than a GPU takes to make it


class MapStore:
    """Writes and reads the maps of one run, by epoch: class index by pixel, IGNORE where there is no label."""

    def __init__(self, folder: Path, classes: int | None = None) -> None:
        self.folder, self.classes = folder, classes  # of labels; None: any value may be stored
        self._writers = ThreadPoolExecutor(WRITERS)
        self._pending: list[Future[tuple[str, str]]] = []
        self._open: Path | None = None
        self._written: Digests = {}  # in the open pass, by this process
        self._indices: dict[int, Digests | None] = {}  # by epoch, as far as they were asked for

    def open_pass(self, epoch: int) -> None:
        self._written = {}
        self._open = self.folder / f".epoch-{epoch:04d}.part"
        self._open.mkdir(parents=True, exist_ok=True)

    def store(self, keys: list[str], maps: Tensor) -> None:
        """Queue `maps` [B, H, W] uint8, not changed any more, for writing in the open pass; a GPU goes on meanwhile."""
        assert self._open is not None
        while len(self._pending) > MOST_WAITING:  # a slow disk must not fill the memory
            self._wait_for(self._pending.pop(0))
        copy = HostCopy(maps)
        for place, key in enumerate(keys):
            self._pending.append(self._writers.submit(_write, self._open, key, copy, place))

    def flush(self) -> None:
        """Wait for this process's maps to be on disk."""
        pending, self._pending = self._pending, []
        for future in pending:
            self._wait_for(future)
        if self._open is not None:
            write_share(self._open, self._written)

    def _wait_for(self, written: Future[tuple[str, str]]) -> None:
        try:
            key, digest = written.result()
            self._written[key] = digest
        except OSError as reason:
            raise CheckpointError(
                f"cannot write maps under {self.folder}: {reason}; free space and resume."
            ) from reason

    def close_pass(self, epoch: int) -> Path:
        """Give the pass its name and return its folder.  Called once all processes have flushed."""
        assert self._open is not None
        final = self._folder_of(epoch)
        join_shares(self._open)
        self._indices.pop(epoch, None)
        shutil.rmtree(final, ignore_errors=True)
        self._open.rename(final)
        self._open = None
        sync(final.parent)
        return final

    def forget_before(self, epoch: int) -> None:
        """Remove passes that no checkpoint on disk can go back to."""
        for folder in self.folder.glob("epoch-*"):  # somebody's copy `epoch-0003 (1)` is not ours to remove
            number = folder.name.removeprefix("epoch-")
            if number.isascii() and number.isdigit() and int(number) < epoch:
                shutil.rmtree(folder, ignore_errors=True)

    def read(self, epoch: int, key: str) -> NDArray[np.uint8]:
        """The map [H, W] that the pass before `epoch` stored for image `key`."""
        path = self._folder_of(epoch) / f"{key}.png"
        if epoch not in self._indices:
            self._indices = {epoch: read_index(self._folder_of(epoch))}
        content = read_map(path, key, self._indices[epoch])
        try:
            with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
                values = np.asarray(image, dtype=np.uint8)
        except (OSError, SyntaxError, ValueError) as reason:
            raise CheckpointError(f"the stored map {path} is missing or damaged; {AGAIN}.") from reason
        if self.classes is not None and ((values >= self.classes) & (values != IGNORE)).any():
            raise CheckpointError(f"the stored map {path} holds labels of no class; {AGAIN}.")
        return values

    def check_pass(self, epoch: int) -> None:
        """CheckpointError where a map of the pass before `epoch` is not the one that was stored."""
        folder, digests = self._folder_of(epoch), read_index(self._folder_of(epoch))
        stored = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.png")]
        for key in stored if digests is None else digests:
            self.read(epoch, key)

    def _folder_of(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:04d}"

    def __getstate__(self) -> tuple[Path, int | None]:
        return self.folder, self.classes  # loader processes only read

    def __setstate__(self, state: tuple[Path, int | None]) -> None:
        self.__init__(*state)  # type: ignore[misc]


def _write(folder: Path, key: str, maps: HostCopy, place: int) -> tuple[str, str]:
    """Store one of the maps; returns its key and digest."""
    values = maps.get()[place].numpy()
    path = folder / f"{key}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = encoded(values)
    path.write_bytes(content)
    return key, digest_of_map(content)


def encoded(values: NDArray[np.uint8]) -> bytes:
    """A map [H, W] as PNG.  Labels come in runs, and rows of a palette are not filtered: a third of the time of plain
    grey levels, and a smaller file; it reads as the same numbers."""
    image = Image.fromarray(values)
    image.putpalette(GREY_LEVELS)
    content = io.BytesIO()
    image.save(content, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return content.getvalue()
