"""A trained model for Python: `endotransfer.load(RUN).predict(image)`.  Research use only, not a medical device."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION
from endotransfer.data.pipeline.decoded_images import resize_image
from endotransfer.engine.model_folder import TrainedModel, load_model
from endotransfer.inference import FLIPS
from endotransfer.predict.prediction import ImagePredictor, Marks, Pixels, Prediction

__all__ = ["Precision", "Prediction", "Predictor", "load"]

Precision = Literal["auto", "32", "bf16"]
RESIZERS = 4  # threads: resizing releases the interpreter


class Predictor(ImagePredictor):
    """Any image in, a mask of the same size out; images are seen as they were when the model was measured.

    `flips`: the mean of four predictions, of the image and its mirror images; four times the work.
    `precision`: bf16 computes the network in half the bits; auto does so on a GPU.
    """

    def __init__(
        self, model: TrainedModel, device: torch.device, *, flips: bool = False, precision: Precision = "32"
    ) -> None:
        self.model = model
        self.device = device
        self.classes = list(model.classes.names)
        self.flips = FLIPS if flips else FLIPS[:1]
        self.bf16 = precision == "bf16" or (precision == "auto" and device.type == "cuda")

    def predict_batch(self, images: Sequence[Pixels]) -> list[Prediction]:
        return [
            Prediction(values.max(0).indices.byte().cpu().numpy(), values.cpu().numpy(), tag)
            for values, tag in self._probabilities(images)
        ]

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        """Winners are found on the device: of all the probabilities only theirs travel."""
        found = []
        for values, tag in self._probabilities(images):
            best, mask = values.max(0)
            found.append(Marks(mask.byte().cpu().numpy(), best.cpu().numpy(), tag))
        return found

    def _probabilities(self, images: Sequence[Pixels]) -> list[tuple[Tensor, float | None]]:
        """For each image its probabilities [K, H, W] at its own size, on the device, and S1's of a lesion."""
        size = self.model.geometry.size
        if size is None:  # each at its own size: no two need be equal
            return [pair for image in images for pair in self._see([image], (image.shape[0], image.shape[1]))]
        return self._see(images, size)

    @torch.inference_mode()
    def _see(self, images: Sequence[Pixels], size: tuple[int, int]) -> list[tuple[Tensor, float | None]]:
        """The same for images that the network sees at `size` = (H, W), or through windows of them."""
        batch = torch.stack(_resized(images, size)).to(self.device).permute(0, 3, 1, 2)
        batch = batch.to(torch.float32).contiguous() / 255
        look, views, tags = self.model.geometry.through(self.model), [], []
        for axes in self.flips:
            with self._precision():
                output = look(batch.flip(axes) if axes else batch)
            views.append(output.logits.float().flip(axes))
            if output.tag_logits is not None:
                tags.append(output.tag_logits.float().softmax(1)[:, LESION])
        chances = torch.stack(tags).mean(0).tolist() if tags else [None] * len(images)
        return [
            (torch.stack([_at(view[index], image.shape[:2]) for view in views]).mean(0), chances[index])
            for index, image in enumerate(images)
        ]

    def _precision(self) -> AbstractContextManager[object]:
        return torch.autocast(self.device.type, torch.bfloat16) if self.bf16 else nullcontext()


def _resized(images: Sequence[Pixels], size: tuple[int, int]) -> list[Tensor]:
    if len(images) == 1:
        return [torch.tensor(resize_image(images[0], size))]
    with ThreadPoolExecutor(RESIZERS) as pool:
        return list(pool.map(lambda image: torch.tensor(resize_image(image, size)), images))


def _at(logits: Tensor, size: tuple[int, ...]) -> Tensor:
    """Logits [K, h, w] of one image -> probabilities [K, H, W] at its own size."""
    return interpolate(logits[None], size=size, mode="bilinear", align_corners=False)[0].softmax(0)


def load(run: Path | str, device: str | None = None, *, flips: bool = False, precision: Precision = "32") -> Predictor:
    """The model of a run folder (or a `model/` folder), ready to predict with torch."""
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return Predictor(load_model(Path(run), where), where, flips=flips, precision=precision)
