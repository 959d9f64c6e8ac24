"""Predictions for the viewer, encoded so that the page can draw the mask of any threshold by itself."""

import io
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.read.read_mask import read_mask
from endotransfer.errors import ConfigError
from endotransfer.metrics import confusion, iou, lesion_iou
from endotransfer.predict.prediction import Prediction, most_probable
from endotransfer.predict.predictor import Predictor, load
from endotransfer.pretrained import shown_name
from endotransfer.serve.edge_doubt import edge_doubt
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.image_figures import ImageFigures, ModelFigures
from endotransfer.serve.lru_cache import LruCache
from endotransfer.serve.pictures import (
    as_png,
    mask_thumbnail,
    one_large_at_a_time,
    read_shown,
    resize_labels,
    thumbnail,
)

THUMBNAIL_ROOM = 24_000_000  # bytes; an image and its mask have some six thousand
HALF = 128  # the code from which the most probable class is not class 0
Labels = NDArray[np.uint8]


class PredictionStore(Protocol):
    """Where predictions may outlive the server."""

    def read(self, entry: CatalogueEntry) -> tuple[ImageFigures, list[bytes]] | None: ...

    def write(self, entry: CatalogueEntry, figures: ImageFigures, maps: Sequence[bytes]) -> None: ...


@dataclass(frozen=True)
class Model:
    """A model under the name of its run."""

    name: str
    run: Path
    predictor: Predictor


def load_models(runs: Sequence[Path]) -> list[Model]:
    """One model or two that know the same classes."""
    if not 1 <= len(runs) <= 2:
        raise ConfigError("the viewer shows one run or two; give RUN, or RUN and RUN2.")
    models = [Model(shown_name(run), run, load(run)) for run in runs]
    names = {tuple(model.predictor.classes) for model in models}
    if len(names) > 1:
        raise ConfigError(f"{runs[0]} and {runs[1]} know different classes; show them one at a time.")
    if len({model.name for model in models}) < len(models):  # two runs of one name: their folders tell them apart
        return [replace(model, name=f"{model.run.resolve().parent.name}/{model.name}") for model in models]
    return models


def encode(probabilities: NDArray[np.float32]) -> NDArray[np.uint8]:
    """[K, H, W] -> [H, W, 3]: the best class but 0, its probability against class 0 in 256 steps, and nothing.

    s = p_best / (p_best + p_0) lies above one half exactly where class 0 is not the most probable; so the codes from
    HALF on are the model's own mask, and any other threshold is one comparison.  With two classes s is p_lesion.
    """
    best, score = score_of(probabilities)
    code = np.clip(np.ceil(score * 256) - 1, 0, 255)
    marked = probabilities[1:].max(0) > probabilities[0]
    code = np.where(marked, np.maximum(code, HALF), np.minimum(code, HALF - 1))  # rounding must not decide
    return np.stack([best + 1, code, np.zeros_like(code)], axis=-1).astype(np.uint8)


def score_of(probabilities: NDArray[np.float32]) -> tuple[Labels, NDArray[np.float32]]:
    """[K, H, W] -> the best class but 0, counted from 0, and s, its probability against class 0."""
    best, chosen = most_probable(probabilities[1:])
    score: NDArray[np.float32] = chosen / np.maximum(chosen + probabilities[0], np.finfo(np.float32).tiny)
    return best, score


def labels_of(encoded: NDArray[np.uint8], threshold: int = HALF) -> Labels:
    """The mask [H, W] of an encoded map; the page does the same."""
    return np.where(encoded[..., 1] >= threshold, encoded[..., 0], 0).astype(np.uint8)


class Predictions:
    """Figures and maps of images, each image computed once for all models; figures stay, maps while there is room."""

    def __init__(
        self,
        models: Sequence[Model],
        cache: LruCache,
        classes: Classes | None = None,
        store: PredictionStore | None = None,
    ) -> None:
        self.models, self._store = models, store
        self.names = models[0].predictor.classes
        self.figures: dict[str, ImageFigures] = {}
        self._cache = cache
        self.thumbnails = LruCache(THUMBNAIL_ROOM)
        self._truth_classes = classes if classes is None or list(classes.names) == self.names else None
        self.truths = self._truth_classes is not None  # whether the folder's masks can be compared with predictions
        self._locks = [threading.Lock() for _ in range(16)]  # two requests for one image wait for each other

    def look(self, entry: CatalogueEntry) -> ImageFigures:
        """The figures of an image: sizes, and for each model its area, doubt, tag and IoU."""
        with self._lock(entry):
            if entry.id not in self.figures:
                self._compute(entry)
            return self.figures[entry.id]

    def map(self, entry: CatalogueEntry, model: int) -> bytes:
        """The encoded map of one model as PNG."""
        with self._lock(entry):
            content = self._cache.get(("map", entry.id, model))
            return self._compute(entry)[model] if content is None else content

    def labels(self, entry: CatalogueEntry, model: int, threshold: float = 0.5) -> Labels:
        """The model's mask [h, w] at a threshold (0.5: its own), at the size that is shown."""
        with Image.open(io.BytesIO(self.map(entry, model)), formats=["PNG"]) as image:
            return labels_of(np.asarray(image), math.floor(256 * threshold + 0.5))

    def thumbnail(self, entry: CatalogueEntry) -> bytes:
        """The first model's mask, to be laid over the image's thumbnail."""
        return self.thumbnails.get_or_make(("mask", entry.id), lambda: mask_thumbnail(self.labels(entry, 0)))

    def truth(self, entry: CatalogueEntry) -> Labels | None:
        """The ground truth at the size that is shown; None where there is none that can be used."""
        return self._truth(entry, self.look(entry))

    def forget(self, entry: CatalogueEntry) -> None:
        self.figures.pop(entry.id, None)

    def _compute(self, entry: CatalogueEntry) -> list[bytes]:
        known = None if self._store is None else self._store.read(entry)
        figures, maps = self._predict(entry) if known is None else known
        for place, content in enumerate(maps):
            self._cache.put(("map", entry.id, place), content)
        if known is None and self._store is not None:
            self._store.write(entry, figures, maps)
        self.figures[entry.id] = figures
        return maps

    def _predict(self, entry: CatalogueEntry) -> tuple[ImageFigures, list[bytes]]:
        pixels, size = read_shown(entry.sample.image)
        found = [model.predictor.predict(pixels) for model in self.models]
        maps = [as_png(encode(prediction.probabilities)) for prediction in found]
        self.thumbnails.put(("thumbnail", entry.id), thumbnail(pixels))
        self.thumbnails.put(("mask", entry.id), mask_thumbnail(found[0].mask))
        models = [self._figures_of(prediction) for prediction in found]
        figures: ImageFigures = {"size": size, "shown": list(pixels.shape[:2]), "models": models}
        self._compare(entry, figures, [prediction.mask for prediction in found])
        return figures, maps

    def _figures_of(self, prediction: Prediction) -> ModelFigures:
        found = prediction.unfamiliarity
        shares = np.bincount(prediction.mask.ravel(), minlength=len(self.names)) / prediction.mask.size
        return {
            "area": float(1 - shares[0]),
            "shares": shares.tolist(),
            "doubt": edge_doubt(score_of(prediction.probabilities)[1]),
            "lesion_probability": prediction.lesion_probability,
            "unfamiliarity": None if found is None else found.score,
            "unfamiliar": None if found is None else found.reason,
        }

    def _compare(self, entry: CatalogueEntry, figures: ImageFigures, masks: list[Labels]) -> None:
        """Add what needs two masks, and what the list of images is sorted by."""
        truth = self._truth(entry, figures)
        if truth is not None:
            for of_model, mask in zip(figures["models"], masks, strict=True):
                of_model.update(overlap(mask, truth, len(self.names)))
        other = masks[1] if len(masks) > 1 else truth
        figures["disagreement"] = None if other is None else disagreement(masks[0], other)
        figures["differing"] = None if other is None else float(((masks[0] != other) & (other != IGNORE)).mean())
        figures["area"] = figures["models"][0]["area"]
        figures["doubt"] = max(of_model["doubt"] for of_model in figures["models"])

    def _truth(self, entry: CatalogueEntry, figures: ImageFigures) -> Labels | None:
        if entry.sample.mask is None or self._truth_classes is None:
            return None
        try:
            with one_large_at_a_time(entry.sample.mask):
                mask = read_mask(entry.sample.mask, self._truth_classes).mask
        except FaultError:
            return None
        return resize_labels(mask, figures["shown"]) if list(mask.shape) == figures["size"] else None

    def _lock(self, entry: CatalogueEntry) -> threading.Lock:
        return self._locks[hash(entry.id) % len(self._locks)]


def overlap(mask: Labels, truth: Labels, classes: int) -> ModelFigures:
    """IoU of each class and of everything but class 0, None where a class is in neither."""
    matrix = confusion(mask, truth, classes)
    merged = float(lesion_iou(matrix))
    return {
        "iou": [None if np.isnan(value) else float(value) for value in iou(matrix)],
        "iou_lesion": None if np.isnan(merged) else merged,
    }


def disagreement(one: Labels, other: Labels) -> float:
    """Pixels of different classes over pixels that either calls something; 0 where neither does."""
    known = (one != IGNORE) & (other != IGNORE)
    marked = known & ((one != 0) | (other != 0))
    return float((marked & (one != other)).sum() / max(1, marked.sum()))
