"""Everything the routes share: models, images, uploads, the queue."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from endotransfer import __version__
from endotransfer.data.class_colours import colour_table
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.read.decode import read_header
from endotransfer.data.read.image_limits import FORMATS, MAX_PIXELS, MAX_UPLOAD_BYTES
from endotransfer.engine.model_info import ModelInfo
from endotransfer.errors import EndotransferError
from endotransfer.predict.prompts.model_hint import model_hint
from endotransfer.serve.answers import Refusal, refuse_fault
from endotransfer.serve.exports import Exports
from endotransfer.serve.folder_walk import Survey
from endotransfer.serve.image_catalogue import CatalogueEntry, ImageCatalogue
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.lru_cache import LruCache
from endotransfer.serve.pictures import (
    SHOWN_SIDE,
    Pixels,
    SuperpixelSize,
    as_jpeg,
    as_png,
    read_shown,
    superpixel_map,
    thumbnail,
)
from endotransfer.serve.predictions import Model, Predictions, load_models
from endotransfer.serve.prepared_images import PreparedImages
from endotransfer.serve.turns import Turns
from endotransfer.serve.uploads import Uploads
from endotransfer.serve.video.video_cache import FrameStore, VideoCache
from endotransfer.serve.video.video_desk import VideoDesk

T = TypeVar("T")


class Service:
    """One viewer: its runs, its folder of images, and what people dropped on it."""

    def __init__(self, runs: Sequence[Path], images: Path | None, prompt_model: Path | None = None) -> None:
        self.prepared = PreparedImages(prompt_model)  # first: a folder without a network is told at once
        self.preparing = Turns(parallel=1)  # a queue of its own: an encoder that takes seconds keeps nobody waiting
        self.catalogue = ImageCatalogue(images)
        self.turns = Turns()
        self._videos_kept = VideoCache()
        self.videos = VideoDesk(images, self._videos_kept, lambda: self.turns.taken > 0)
        self.forms = Turns(parallel=4)  # each holds a whole file in memory
        self._open(load_models(runs))
        self.uploads = Uploads(lambda entry: self.predictions.forget(entry))
        self.exports = Exports()

    def _open(self, models: list[Model]) -> None:
        self.models, self.cache = models, LruCache()
        self.prepared.hint_by(partial(model_hint, models[0].predictor))
        store = FrameStore(self._videos_kept, [model.predictor.model.info.sha256 for model in models])
        self.predictions = Predictions(models, self.cache, self.catalogue.classes, store)
        self.videos.show_models(self.predictions, store)
        self.survey = Survey([*self.catalogue.entries.values()], self.predictions.look, lambda: self.turns.taken > 0)

    def show_runs(self, runs: Sequence[Path]) -> None:
        """Other models in place of those that were shown; what the old ones said of the images is forgotten."""
        models = load_models(runs)  # first: a model that cannot be read leaves everything as it is
        self.survey.stop()
        self._open(models)

    @property
    def folder(self) -> Path:
        """Where reviews go."""
        if self.catalogue.folder is None:
            raise Refusal(409, "no-folder", "there is no folder to save to; start the viewer with --images DIR.")
        return self.catalogue.folder

    def find(self, image: str) -> CatalogueEntry:
        """The image with this id, of the folder or uploaded, or a frame of a video."""
        return self.uploads.find(image) or self._frame(image) or self.catalogue.find(image)

    def find_reviewable(self, image: str) -> CatalogueEntry:
        _ = self.folder
        frame = self._frame(image)
        return frame if frame is not None and not frame.uploaded else self.catalogue.find(image)

    def _frame(self, image: str) -> CatalogueEntry | None:
        return told(lambda: self.videos.catalogue.find_frame(image))

    def measures(self, entry: CatalogueEntry) -> bool:
        """Whether an image was drawn to measure models with: none may have a say in what is drawn on it."""
        if self.catalogue.folder is None:
            return False
        try:
            plan = read_plan(self.catalogue.folder)
        except EndotransferError:
            return True  # it might have been
        return plan is not None and entry.name in plan.images

    def model_index(self, model: int) -> int:
        if not 0 <= model < len(self.models):
            raise Refusal(404, "unknown", "there is no such model.")
        return model

    async def look(self, entry: CatalogueEntry) -> ImageFigures:
        """The figures of an image, computed if need be."""
        known = self.predictions.figures.get(entry.id)
        return known if known is not None else await self.turns.run(lambda: told(lambda: self.predictions.look(entry)))

    async def map(self, entry: CatalogueEntry, model: int) -> bytes:
        found = self.cache.get(("map", entry.id, model))
        if found is not None:
            return found
        return await self.turns.run(lambda: told(lambda: self.predictions.map(entry, model)))

    async def truth(self, entry: CatalogueEntry) -> bytes:
        mask = await self.turns.run(lambda: told(lambda: self.predictions.truth(entry)))
        if mask is None:
            raise Refusal(404, "no-truth", "there is no ground truth for this image.")
        return as_png(mask)

    async def picture(self, entry: CatalogueEntry, kind: str) -> bytes:
        """The image itself, a thumbnail, or the first model's mask to be laid over that."""
        if kind == "mask-thumbnail":
            return await self.turns.run(lambda: told(lambda: self.predictions.thumbnail(entry)))
        if kind == "thumbnail":
            return await self._made(entry, kind, thumbnail, self.predictions.thumbnails)
        if entry.source is not None and (known := await self.turns.run(lambda: as_it_is(entry))):
            return known
        return await self._made(entry, kind, as_jpeg)

    async def superpixels(self, entry: CatalogueEntry, size: SuperpixelSize) -> bytes:
        return await self._made(entry, f"{size} superpixels", lambda pixels: superpixel_map(pixels, size))

    async def _made(
        self, entry: CatalogueEntry, kind: str, make: Callable[[Pixels], bytes], cache: LruCache | None = None
    ) -> bytes:
        """What `make` makes of an image's pixels, once."""
        kept = cache or self.cache

        def build() -> bytes:
            return told(lambda: make(read_shown(entry.sample.image)[0]))

        name = (kind, entry.id)
        found = kept.get(name)
        return found if found is not None else await self.turns.run(lambda: kept.get_or_make(name, build))

    def about(self) -> dict[str, object]:
        """What the page must know before it can draw anything."""
        names = self.predictions.names
        return {
            "version": __version__,
            "models": [{"name": model.name, **_described(model.predictor.model.info)} for model in self.models],
            "classes": names,
            "colours": colour_table()[: len(names)].tolist(),
            "folder": self.catalogue.folder and self.catalogue.folder.resolve().name,
            "truths": self.predictions.truths,
            "prompt_model": self.prepared.name,
            "limits": {"bytes": MAX_UPLOAD_BYTES, "pixels": MAX_PIXELS, "formats": list(FORMATS)},
        }

    def close(self) -> None:
        self.survey.stop()
        self.videos.close()
        self.exports.close()
        self.uploads.close()


def as_it_is(entry: CatalogueEntry) -> bytes | None:
    """The picture of a frame, which the cache holds as JPEG already; None where it is too large to be shown."""
    header = told(lambda: read_header(entry.sample.image))
    return entry.sample.image.read_bytes() if max(header.height, header.width) <= SHOWN_SIDE else None


def _described(info: ModelInfo) -> dict[str, object]:
    return {"method": info.method.name, "preset": info.method.preset, "size": info.shape}


def told(work: Callable[[], T]) -> T:
    """The result of `work`; a fault of a file becomes an answer that names no path."""
    try:
        return work()
    except EndotransferError as error:
        raise refuse_fault(error) from None
