"""Decoded, resized images and checked masks on disk, so that a second run on the same files starts at once.

One file for each image, named by all that its content depends on: the bytes of the image and its mask, the size, the
classes, the tag.  So nothing can be out of date, and several runs may share a folder: a file is whole or absent, one
that a kill cut short is noticed by its checksum and made again.  The folder is kept below LIMIT, and may be deleted at
any time.
"""

import json
import secrets
import shutil
import time
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import Classes
from endotransfer.io import open_regular
from endotransfer.paths import cache_root
from endotransfer.samples import Sample

FORMAT = b"endotransfer-pixels-1\n"  # first bytes of a file
DIGEST = 16  # bytes of the checksum
LIMIT = 8 * 2**30  # bytes of the whole folder
WORTHWHILE = 16 * 2**10  # bytes of an image file from which decoding takes longer than looking it up
LARGEST = 64 * 2**20  # bytes of a file that is read for its name
LARGEST_NOTES = 2**16  # bytes of the sentences in a file
LEFTOVER = 86_400  # seconds after which a file that nobody finished is removed
Arrays = tuple[NDArray[np.uint8], NDArray[np.uint8] | None]  # image [3, H, W], mask [H, W]


class PixelCache:
    """Looked up by content; whatever goes wrong with the disk, the caller decodes as if there were no cache."""

    def __init__(self, folder: Path | None = None, limit: int = LIMIT) -> None:
        self.folder, self.limit = folder or cache_root() / "decoded", limit
        self.written = 0  # bytes, by this process
        self._closed = False  # the disk would not take more

    def name(self, sample: Sample, size: tuple[int, int], classes: Classes | None, keep: bool) -> str | None:
        """What the image and, with `classes`, its mask are called here; None where they are not worth keeping."""
        files = [sample.image] if classes is None or sample.mask is None else [sample.image, sample.mask]
        about = (size, version("pillow"), classes, sample.tag if classes else None, keep)
        name = blake2b(FORMAT + repr(about).encode(), digest_size=DIGEST)
        for file in files:
            content = _content(file, WORTHWHILE if file == sample.image else 0)
            if content is None:
                return None
            name.update(blake2b(content, digest_size=DIGEST).digest())
        return name.hexdigest()

    def get(self, name: str, size: tuple[int, int], *, masks: bool) -> tuple[Arrays, set[str]] | None:
        """The arrays and the conversions that were made; None where they are not there, or not whole."""
        area = size[0] * size[1]
        length = area * (4 if masks else 3)
        try:
            with open_regular(self._path(name)) as file:
                content = file.read(len(FORMAT) + DIGEST + 4 + LARGEST_NOTES + length)
        except OSError:
            return None
        body = memoryview(content)[len(FORMAT) + DIGEST :]
        if content[: len(FORMAT) + DIGEST] != FORMAT + blake2b(body, digest_size=DIGEST).digest():
            return None
        end = 4 + int.from_bytes(body[:4])
        pixels, notes = np.frombuffer(body[end:], np.uint8), _notes(bytes(body[4:end]))
        if len(pixels) != length or notes is None:
            return None
        mask = pixels[3 * area :].reshape(size) if masks else None
        return (pixels[: 3 * area].reshape(3, *size), mask), notes

    def put(self, name: str, arrays: Arrays, notes: set[str]) -> None:
        """Keep them, where the disk allows."""
        if self._closed:
            return
        header = json.dumps(sorted(notes)).encode()
        parts = [len(header).to_bytes(4), header, *(part.tobytes() for part in arrays if part is not None)]
        body = b"".join(parts)
        path = self._path(name)
        part = path.with_name(f".{name}.{secrets.token_hex(4)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not flushed to the disk: what a failing machine cuts short has another checksum.
            part.write_bytes(FORMAT + blake2b(body, digest_size=DIGEST).digest() + body)
            part.replace(path)
            self.written += len(body)
        except OSError:
            self._closed = True
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def takes(self, expected: int) -> bool:
        """Whether so many bytes are a small part of the limit and of the disk."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            return expected <= self.limit // 2 and 2 * expected <= shutil.disk_usage(self.folder).free
        return False

    def trim(self) -> None:
        """After writing: the oldest files go until the folder is below its limit, and what was left half made."""
        if not self.written:
            return
        self.written, now = 0, time.time()
        files = []
        for path in self.folder.glob("*/*"):
            with suppress(OSError):
                status = path.stat()
                if path.suffix != ".part":
                    files.append((status.st_mtime, status.st_size, path))
                elif now - status.st_mtime > LEFTOVER:
                    path.unlink()
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.limit:
                return
            with suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name


def _notes(text: bytes) -> set[str] | None:
    """The sentences of a file; None for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fitting = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return set(found) if fitting else None


def _content(path: Path, least: int) -> bytes | None:
    """The bytes of a regular file of at least so many; None for anything else, which decoding has words for."""
    with suppress(OSError, ValueError):
        if path.is_file() and least <= path.stat().st_size <= LARGEST:
            return path.read_bytes()
    return None
