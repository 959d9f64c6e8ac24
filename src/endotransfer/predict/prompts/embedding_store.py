"""Embeddings of images on disk, by the content of the image and the network: computed once, and never too many."""

import logging
import os
from hashlib import blake2b
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from endotransfer.data.pipeline.superpixel_cache import cache_folder
from endotransfer.errors import DataError
from endotransfer.io import read_bounded, write_atomically
from endotransfer.predict.prediction import Pixels
from endotransfer.predict.prompts.prompt_model import Embedding, PromptModel, is_embedding

ROOM = 2_000_000_000  # bytes of all embeddings; one has eight million
LARGEST = 20_000_000  # of one
_log = logging.getLogger("endotransfer.predict")


class EmbeddingStore:
    """A folder of embeddings: the least recently used go first.  Where it cannot be written, nothing is kept."""

    def __init__(self, model: PromptModel, folder: Path | None = None, room: int = ROOM) -> None:
        self._model, self._room = model, room
        self.folder = folder or cache_folder().parent / "embeddings"

    def get(self, pixels: Pixels) -> Embedding:
        """The embedding of an image uint8 [H, W, 3]."""
        path = self._path(pixels)
        known = _read(path)
        if known is not None:
            return known
        embedding = self._model.embed(pixels)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, save(embedding), DataError)
            self._make_room()
        except (OSError, DataError) as reason:
            _log.warning("embeddings are not kept: %s", reason)
        return embedding

    def _path(self, pixels: Pixels) -> Path:
        name = blake2b(f"{self._model.digest} {pixels.shape}".encode(), digest_size=16)
        name.update(np.ascontiguousarray(pixels).data)
        return self.folder / f"{name.hexdigest()}.safetensors"

    def _make_room(self) -> None:
        files = [(path.stat(), path) for path in self.folder.glob("*.safetensors")]
        total = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda one: one[0].st_mtime):
            if total <= self._room:
                return
            path.unlink(missing_ok=True)
            total -= status.st_size


def _read(path: Path) -> Embedding | None:
    """What is stored at `path`; None where there is nothing, or nothing of use."""
    try:
        found: Embedding = load(read_bounded(path, DataError, largest=LARGEST))
        os.utime(path)
    except (OSError, DataError, SafetensorError, ValueError, KeyError, TypeError):
        return None
    return found if is_embedding(found) else None
