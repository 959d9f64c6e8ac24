"""What a model says of one image, and what anything that predicts can be asked.  Nothing here needs torch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.read.read_image import read_image

Pixels = NDArray[np.uint8]  # [H, W, 3], RGB
Mask = NDArray[np.uint8]  # [H, W], class index


@dataclass(frozen=True)
class Prediction:
    """What the model says of one image, at the image's own size."""

    mask: Mask
    probabilities: NDArray[np.float32]  # [K, H, W]
    lesion_probability: float | None  # S1's, or None where the model has no tag head

    @property
    def certainty(self) -> NDArray[np.float32]:
        """Probability of the predicted class, [H, W]."""
        return self.probabilities.max(0)

    @property
    def lesion_share(self) -> float:
        """Share of the image that is not class 0."""
        return float((self.mask != 0).mean())

    @property
    def confidence(self) -> float:
        """Mean over pixels of the probability of the predicted class."""
        return float(self.certainty.mean())


@dataclass(frozen=True)
class Marks:
    """A prediction without the probabilities of the classes that lost: all that masks, overlays and tables need."""

    mask: Mask
    certainty: NDArray[np.float32]  # [H, W]: probability of the predicted class
    lesion_probability: float | None

    @property
    def confidence(self) -> float:
        """Mean over pixels of the probability of the predicted class."""
        return float(self.certainty.mean())


class ImagePredictor(ABC):
    """Images of any size in, masks of the same size out."""

    classes: list[str]

    @abstractmethod
    def predict_batch(self, images: Sequence[Pixels]) -> list[Prediction]:
        """RGB pixels uint8 [H, W, 3], each of its own size."""

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        """The same without the losing classes."""
        return [Marks(one.mask, one.certainty, one.lesion_probability) for one in self.predict_batch(images)]

    def predict(self, image: Path | str | Pixels) -> Prediction:
        """`image`: a path, or RGB pixels uint8 [H, W, 3]."""
        pixels = read_image(Path(image)) if isinstance(image, (str, Path)) else np.ascontiguousarray(image)
        return self.predict_batch([pixels])[0]


def winners(probabilities: NDArray[np.float32]) -> tuple[Mask, NDArray[np.float32]]:
    """[K, H, W] -> the class with the highest probability (the first of equals), and that probability."""
    mask = np.zeros(probabilities.shape[1:], np.uint8)
    best = probabilities[0]
    for index in range(1, len(probabilities)):  # a few passes over the image; argmax over the first axis is far slower
        better = probabilities[index] > best
        mask = np.where(better, np.uint8(index), mask)
        best = np.maximum(best, probabilities[index])
    return mask, best
