"""Images that are ready for clicks, a few at a time: preparing one takes seconds with a promptable network.

Without such a network the model that is served has a say in where regions grow; but not in images that it is measured
with: what is drawn blind must not repeat the mask that it will be compared with.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.predict.prompts.embedding_store import EmbeddingStore
from endotransfer.predict.prompts.grow_regions import GrownImage
from endotransfer.predict.prompts.prompt import Prompt
from endotransfer.predict.prompts.prompt_model import PromptModel
from endotransfer.predict.prompts.prompted_image import Area, EmbeddedImage, PromptedImage
from endotransfer.predict.prompts.region_graph import Hint
from endotransfer.serve.pictures import Pixels, read_shown

MOST = 6  # images; each takes some eight megabytes
GiveHint = Callable[[Pixels], Hint]
_Key = tuple[Path, bool]  # an image, and whether a model has a say


@dataclass
class _Place:
    """One image; whoever works with it holds the lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    image: PromptedImage | None = None


class PreparedImages:
    """Clicks become masks: by the network that `named` means, or without one by super-pixels and a model's hint."""

    def __init__(self, named: Path | None) -> None:
        self._model = None if named is None else PromptModel(named)
        self.name = None if self._model is None else self._model.name  # None: super-pixels answer
        self._store = None if self._model is None else EmbeddingStore(self._model)
        self._hint: GiveHint | None = None
        self._places: OrderedDict[_Key, _Place] = OrderedDict()
        self._lock = threading.Lock()
        self._preparing = threading.Lock()  # one at a time: the encoder uses all cores and much memory

    def hint_by(self, hint: GiveHint) -> None:
        """What another model said of the images is forgotten."""
        with self._lock:
            self._hint = None if self._model is not None else hint
            self._places.clear()

    def segment(self, path: Path, prompt: Prompt, *, blind: bool = False) -> Area:
        """The mask [h, w] that is meant, at the size that is shown.  `blind`: no trained model has a say."""
        place = self._place(path, blind)
        with place.lock:
            return self._ready(place, path, blind).segment(prompt)

    def prepare(self, path: Path, *, blind: bool = False) -> None:
        """So that the first click is answered quickly."""
        place = self._place(path, blind)
        with place.lock:
            self._ready(place, path, blind)

    def is_ready(self, path: Path, *, blind: bool = False) -> bool:
        with self._lock:
            place = self._places.get(self._key(path, blind))
            return place is not None and place.image is not None

    def _key(self, path: Path, blind: bool) -> _Key:
        return path, self._hint is not None and not blind

    def _place(self, path: Path, blind: bool) -> _Place:
        with self._lock:
            key = self._key(path, blind)
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > MOST:
                self._places.popitem(last=False)
            return place

    def _ready(self, place: _Place, path: Path, blind: bool) -> PromptedImage:
        if place.image is None:
            with self._preparing:
                place.image = self._made(read_shown(path)[0], None if blind else self._hint)
        return place.image

    def _made(self, pixels: Pixels, hint: GiveHint | None) -> PromptedImage:
        if self._model is None or self._store is None:
            return GrownImage(pixels, None if hint is None else hint(pixels))
        height, width = pixels.shape[:2]
        return EmbeddedImage(self._model, self._store.get(pixels), (height, width))
