"""A trained model run by torch: `endotransfer.load(RUN).predict(image)`.  Research use only, not a medical device."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.engine.choose_device import choose_device
from endotransfer.engine.model_folder import TrainedModel, load_model
from endotransfer.familiarity.familiarity import Unfamiliarity
from endotransfer.inference import (
    are_finite,
    forward_views,
    mean_features,
    mean_probabilities,
    network_input,
    require_finite,
    tag_probabilities,
    to_batch,
)
from endotransfer.predict.image_input import ImageLike, as_batch
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Marks, Pixels, Prediction

__all__ = ["Precision", "Prediction", "Predictor", "load"]

Precision = Literal["auto", "32", "bf16"]
RESIZERS = 4  # threads: resizing releases the interpreter
Inferred = tuple[Tensor, float | None, Unfamiliarity | None]  # probabilities [K, H, W] on the device, tag, warning


class Predictor(ImagePredictor):
    """Any image in, a mask of the same size out, with the inference geometry under which the model was evaluated.

    `flips`: the mean of four predictions, of the image and its mirror images; four times the work.
    `precision`: bf16 computes the network in half the bits; auto does so on a GPU.
    """

    def __init__(
        self, model: TrainedModel, device: torch.device, *, flips: bool = False, precision: Precision = "32"
    ) -> None:
        self.model = model
        self.device = device
        self.classes = list(model.classes.names)
        self.flips = flips
        self.bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")
        # A CPU gains nothing from a batch, and one image at a time keeps the stages of a video busy.
        self.batch_size = 16 if device.type == "cuda" else 1

    def predict_batch(self, images: Sequence[ImageLike]) -> list[Prediction]:
        batch = as_batch(images)
        return [
            Prediction(
                values.max(0).indices.byte().cpu().numpy(), values.cpu().numpy(), tag, image, self.classes, unfamiliar
            )
            for image, (values, tag, unfamiliar) in zip(batch, self._probabilities(batch), strict=True)
        ]

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        """The most probable class is found on the device: of all the probabilities only its own travels."""
        found = []
        for values, tag, unfamiliar in self._probabilities(images):
            best, mask = values.max(0)
            found.append(Marks(mask.byte().cpu().numpy(), best.cpu().numpy(), tag, unfamiliar))
        return found

    def _probabilities(self, images: Sequence[Pixels]) -> Iterator[Inferred]:
        """For each image its probabilities at its own size, the tag head's of a lesion, and how unfamiliar it is."""
        size = self.model.geometry.size
        groups = [images] if size else [[image] for image in images]  # own sizes: no two need be equal
        for group in groups:
            yield from self._infer(group, size)

    @torch.inference_mode()
    def _infer(self, images: Sequence[Pixels], size: tuple[int, int] | None) -> list[Inferred]:
        """The same for images that the network sees at one `size` = (H, W)."""
        inputs = _inputs(images, size)
        batch = to_batch(inputs, self.device)
        with self._precision():
            outputs = forward_views(self.model.geometry.wrap(self.model), batch, flips=self.flips)
        require_finite(are_finite(outputs))
        tags, warnings = tag_probabilities(outputs), self._warnings(inputs, outputs)
        chances = [None] * len(images) if tags is None else tags.tolist()
        return [
            (mean_probabilities(outputs, index, (image.shape[0], image.shape[1])), chances[index], warnings[index])
            for index, image in enumerate(images)
        ]

    def _warnings(self, inputs: Sequence[Tensor], outputs: Sequence[SegOutput]) -> list[Unfamiliarity | None]:
        """By the features that the network has computed anyway, and a look at its small input."""
        familiarity = self.model.familiarity
        if familiarity is None:
            return [None] * len(inputs)
        features = mean_features(outputs)
        return [familiarity.assess(one.numpy(), features[index]) for index, one in enumerate(inputs)]

    @torch.inference_mode()
    def features(self, image: Pixels) -> NDArray[np.float32]:
        """[C, h, w]: what the pixel classifier sees of the whole image, however it is predicted."""
        batch = to_batch(_inputs([image], self.model.geometry.size), self.device)
        found: NDArray[np.float32] = self.model(batch).features[0].float().cpu().numpy()
        return found

    def _precision(self) -> AbstractContextManager[object]:
        return torch.autocast(self.device.type, torch.bfloat16) if self.bf16 else nullcontext()


def _inputs(images: Sequence[Pixels], size: tuple[int, int] | None) -> list[Tensor]:
    if len(images) == 1:
        return [network_input(images[0], size)]
    with ThreadPoolExecutor(RESIZERS) as pool:
        return list(pool.map(partial(network_input, size=size), images))


def load(run: Path | str, device: str | None = None, *, flips: bool = False, precision: Precision = "32") -> Predictor:
    """The model of a run folder (or a `model/` folder), ready to predict with torch."""
    where = choose_device(device)
    return Predictor(load_model(Path(run), where), where, flips=flips, precision=precision)
