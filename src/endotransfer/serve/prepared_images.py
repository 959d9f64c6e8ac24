"""Images that are ready for clicks, a few at a time: preparing one takes seconds with a promptable network.

No trained model of ours has a say in the masks: it gains little (docs/viewer.md), and what is drawn blind must not
repeat the mask that it will be measured against.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.predict.prompts.embedding_store import EmbeddingStore
from endotransfer.predict.prompts.grow_regions import GrownImage
from endotransfer.predict.prompts.prompt import Prompt
from endotransfer.predict.prompts.prompt_model import PromptModel
from endotransfer.predict.prompts.prompted_image import Area, EmbeddedImage, PromptedImage
from endotransfer.serve.pictures import Pixels, read_shown

MOST = 6  # images; each takes some eight megabytes


@dataclass
class _Place:
    """One image; whoever works with it holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    image: PromptedImage | None = None


class PreparedImages:
    """Clicks become masks: by the network that `named` means, or without one by super-pixels."""

    def __init__(self, named: Path | None) -> None:
        self._model = None if named is None else PromptModel(named)
        self.name = None if self._model is None else self._model.name  # None: super-pixels answer
        self._store = None if self._model is None else EmbeddingStore(self._model)
        self._places: OrderedDict[Path, _Place] = OrderedDict()
        self._lock = threading.Lock()
        self._preparing = threading.Lock()  # one at a time: the encoder uses all cores and much memory

    def segment(self, path: Path, prompt: Prompt) -> Area:
        """The mask [h, w] that is meant, at the size that is shown."""
        place = self._place(path)
        with place.lock:
            return self._ready(place, path).segment(prompt)

    def prepare(self, path: Path) -> None:
        """So that the first click is answered quickly."""
        place = self._place(path)
        with place.lock:
            self._ready(place, path)

    def is_ready(self, path: Path) -> bool:
        with self._lock:
            place = self._places.get(path)
            return place is not None and place.image is not None

    def _place(self, path: Path) -> _Place:
        with self._lock:
            place = self._places.setdefault(path, _Place())
            self._places.move_to_end(path)
            while len(self._places) > MOST:
                self._places.popitem(last=False)
            return place

    def _ready(self, place: _Place, path: Path) -> PromptedImage:
        if place.image is None:
            with self._preparing:
                place.image = self._made(read_shown(path)[0])
        return place.image

    def _made(self, pixels: Pixels) -> PromptedImage:
        if self._model is None or self._store is None:
            return GrownImage(pixels)
        height, width = pixels.shape[:2]
        return EmbeddedImage(self._model, self._store.get(pixels), (height, width))
