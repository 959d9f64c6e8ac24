"""Frames on disk: pictures, and what the models said of them.  A folder a video, in it one for each set of models.

Each file appears by one rename, so that a kill leaves whole files alone, and what is there is never computed again.
"""

import json
import logging
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from math import isfinite
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load, save

from endotransfer.data.pipeline.superpixel_cache import cache_folder
from endotransfer.errors import DataError
from endotransfer.io import open_regular, read_bounded, write_atomically
from endotransfer.paths import make_cache_folder
from endotransfer.sealed_json import is_intact, sealed
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.pictures import Pixels

ROOM = 8_000_000_000  # bytes of the disk for all videos
LARGEST = 100_000_000  # of one file
QUALITY = 95  # of the pictures, colours in full
NO_FIGURES = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, struct.error)
_log = logging.getLogger("endotransfer.serve")


class VideoCache:
    """The folder of all videos."""

    def __init__(self, folder: Path | None = None, room: int = ROOM) -> None:
        self.folder, self._room = folder or cache_folder().parent / "videos", room

    def folder_of(self, digest: str) -> Path:
        return self.folder / digest

    def picture(self, digest: str, number: int) -> Path:
        return self.folder_of(digest) / f"{number:06d}.jpg"

    def keep_picture(self, path: Path, pixels: Pixels) -> None:
        def fill(file: Path) -> None:
            Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY, subsampling=0)

        make_cache_folder(path.parent)
        write_atomically(path, fill, DataError)

    def prepare(self, digest: str) -> None:
        """The folder of a video, in use from now on; those that nobody used for longest go where room is short."""
        place = self.folder_of(digest)
        make_cache_folder(place)
        with suppress(OSError):  # another viewer may remove what this one counts
            os.utime(place)
            self._make_room(place)

    def _make_room(self, place: Path) -> None:
        others = sorted(
            (one for one in self.folder.iterdir() if one != place and one.is_dir()), key=lambda one: one.stat().st_mtime
        )
        sizes = {one: sum(file.stat().st_size for file in one.rglob("*") if file.is_file()) for one in [place, *others]}
        for old in others:
            if sum(sizes.values()) <= self._room:
                return
            shutil.rmtree(old, ignore_errors=True)
            del sizes[old]


class FrameStore:
    """What a set of models said of frames: figures and encoded maps, one file a frame."""

    def __init__(self, cache: VideoCache, models: Sequence[str]) -> None:
        """`models`: the hashes of their weights, in order."""
        self._cache = cache
        self._name = blake2b(" ".join(models).encode(), digest_size=8).hexdigest()

    def folder_of(self, digest: str) -> Path:
        return self._cache.folder_of(digest) / self._name

    def numbers(self, digest: str) -> list[int]:
        """The frames that are there, in order."""
        found = self.folder_of(digest).glob("*.safetensors")
        return sorted(int(path.stem) for path in found if path.stem.isdecimal())

    def read(self, entry: CatalogueEntry) -> tuple[ImageFigures, list[bytes]] | None:
        """Figures and maps of a frame; None where nothing of use is there, and for images that are no frames."""
        path = self._path(entry)
        if path is None:
            return None
        try:
            content = read_bounded(path, DataError, largest=LARGEST)
            maps = load(content)
            found = [maps[f"map{place}"].tobytes() for place in range(len(maps))]
            figures, digest = _figures(content)
            return (figures, found) if digest == _digest(found) else None
        except (OSError, DataError, SafetensorError, *NO_FIGURES):
            return None

    def read_figures(self, digest: str, number: int) -> ImageFigures | None:
        """The figures alone: only the head of the file is read."""
        try:
            with open_regular(self.folder_of(digest) / f"{number:06d}.safetensors") as file:
                head = file.read(8)
                return _figures(head + file.read(min(struct.unpack("<Q", head)[0], 1_000_000)))[0]
        except (OSError, *NO_FIGURES):
            return None

    def write(self, entry: CatalogueEntry, figures: ImageFigures, maps: Sequence[bytes]) -> None:
        path = self._path(entry)
        if path is None:
            return
        arrays = {f"map{place}": np.frombuffer(content, np.uint8) for place, content in enumerate(maps)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, save(arrays, _described(figures, maps)), DataError)
        except (OSError, DataError) as reason:
            _log.warning("what was predicted of %s is not kept: %s", entry.name, reason)

    def _path(self, entry: CatalogueEntry) -> Path | None:
        if entry.source is None:
            return None
        return self.folder_of(entry.source) / f"{entry.sample.image.stem}.safetensors"

    def all_figures(self, digest: str) -> Iterator[tuple[int, ImageFigures]]:
        for number in self.numbers(digest):
            if (figures := self.read_figures(digest, number)) is not None:
                yield number, figures


def _described(figures: ImageFigures, maps: Sequence[bytes]) -> dict[str, str]:
    """What stands in the head: the figures, sealed, and a digest of the maps, for the format has no checksum."""
    return {"figures": sealed({"of": figures}), "maps": _digest(maps)}


def _figures(content: bytes) -> tuple[ImageFigures, str]:
    """Figures and the digest of the maps.  The head of a safetensors file: eight bytes with its length, then JSON."""
    length = struct.unpack("<Q", content[:8])[0]
    described = json.loads(content[8 : 8 + length])["__metadata__"]
    found = json.loads(described["figures"])
    if not is_intact(found):
        raise ValueError("they are not those that were written")
    figures: ImageFigures = found["of"]
    if not all(isinstance(figures[name], float | int) and isfinite(figures[name]) for name in ("area", "doubt")):
        raise ValueError("they are no numbers")
    return figures, str(described["maps"])


def _digest(maps: Sequence[bytes]) -> str:
    """Of all maps and where each ends."""
    found = blake2b(repr([len(one) for one in maps]).encode(), digest_size=16)
    for one in maps:
        found.update(one)
    return found.hexdigest()
