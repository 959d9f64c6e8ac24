"""A trained model for Python: `endotransfer.load(RUN).predict(image)`.  Research use only, not a medical device."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from endotransfer.batch import LESION
from endotransfer.data.decoded import resize_image
from endotransfer.data.images import read_image
from endotransfer.engine.model_folder import TrainedModel, load_model


@dataclass(frozen=True)
class Prediction:
    """What the model says of one image, at the image's own size."""

    mask: NDArray[np.uint8]  # [H, W] class index
    probabilities: NDArray[np.float32]  # [K, H, W]
    lesion_probability: float | None  # S1's, or None where the model has no tag head

    @property
    def lesion_share(self) -> float:
        """Share of the image that is not class 0."""
        return float((self.mask != 0).mean())

    @property
    def confidence(self) -> float:
        """Mean over pixels of the probability of the predicted class."""
        return float(self.probabilities.max(0).mean())


class Predictor:
    """Any image in, a mask of the same size out."""

    def __init__(self, model: TrainedModel, device: torch.device) -> None:
        self.model = model
        self.device = device
        self.classes = list(model.classes.names)

    @torch.inference_mode()
    def predict(self, image: Path | str | NDArray[np.uint8]) -> Prediction:
        """`image`: a path, or RGB pixels uint8 [H, W, 3]."""
        pixels = read_image(Path(image)) if isinstance(image, (str, Path)) else np.ascontiguousarray(image)
        small = torch.from_numpy(resize_image(pixels, self.model.shape)).permute(2, 0, 1)
        output = self.model(small[None].to(self.device, torch.float32) / 255)
        logits = interpolate(output.logits.float(), size=pixels.shape[:2], mode="bilinear", align_corners=False)
        probabilities = logits.softmax(1)[0].cpu().numpy()
        tag = None if output.tag_logits is None else float(output.tag_logits.softmax(1)[0, LESION])
        return Prediction(probabilities.argmax(0).astype(np.uint8), probabilities, tag)


def load(run: Path | str, device: str | None = None) -> Predictor:
    """The model of a run folder (or a `model/` folder), ready to predict."""
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return Predictor(load_model(Path(run), where), where)
