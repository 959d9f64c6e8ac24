"""What a model predicts for one image.  Nothing here needs torch, and nothing slow is imported before it is used."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from endotransfer.errors import ConfigError
from endotransfer.familiarity.familiarity import Unfamiliarity
from endotransfer.predict.overlay import overlay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pixels = NDArray[np.uint8]  # [H, W, 3], RGB
Mask = NDArray[np.uint8]  # [H, W], class index


@dataclass(frozen=True)
class Prediction:
    """Mask and probabilities of one image, at the image's own size; a notebook shows the overlay and the areas."""

    mask: Mask
    probabilities: NDArray[np.float32]  # [K, H, W]
    lesion_probability: float | None  # of the tag head S1, or None where the model has none
    image: Pixels | None = field(default=None, repr=False)  # what was predicted
    classes: Sequence[str] = ()  # names of the K classes
    unfamiliarity: Unfamiliarity | None = None  # score and reason; None where the model cannot tell

    @property
    def unfamiliar(self) -> bool | None:
        """Whether the image is unlike those that the model was trained for; None where the model cannot tell."""
        return None if self.unfamiliarity is None else self.unfamiliarity.reason is not None

    @property
    def certainty(self) -> NDArray[np.float32]:
        """Probability of the predicted class, [H, W]."""
        best: NDArray[np.float32] = self.probabilities.max(0)
        return best

    @property
    def lesion_share(self) -> float:
        """Share of the image that is not class 0."""
        return float((self.mask != 0).mean())

    @property
    def confidence(self) -> float:
        """Mean over pixels of the probability of the predicted class."""
        return float(self.certainty.mean())

    @property
    def areas(self) -> dict[str, int]:
        """Pixels of each class, by its name."""
        names = self.classes or [str(index) for index in range(len(self.probabilities))]
        return dict(zip(names, np.bincount(self.mask.ravel(), minlength=len(names)).tolist(), strict=True))

    def overlay(self, opacity: float = 0.35, image: Pixels | None = None) -> Pixels:
        """The image, uint8 [H, W, 3], with each class but 0 tinted and outlined."""
        pixels = self.image if image is None else image
        if pixels is None or pixels.shape != (*self.mask.shape, 3):
            height, width = self.mask.shape
            raise ConfigError(f"an overlay needs the predicted image; give overlay(image=...) of {width} x {height}.")
        return overlay(pixels, self.mask, opacity)

    def save(self, path: Path | str, *, overlay: bool = False) -> None:
        """Write the mask as PNG (0 and 255 with two classes, else class indices), or the overlay."""
        from endotransfer.predict.prediction_files import save_png

        save_png(Path(path), self.overlay() if overlay else mask_pixels(self.mask, len(self.probabilities)))

    def show(self) -> "Figure":
        """Plot the image beside its overlay: a window where there is a screen, the returned figure in a notebook."""
        from endotransfer.predict.prediction_figure import plot

        return plot(self)

    def _repr_html_(self) -> str | None:
        from endotransfer.predict.prediction_files import as_html

        return None if self.image is None else as_html(self)


@dataclass(frozen=True)
class Marks:
    """A prediction without the probabilities of the classes that lost: all that masks, overlays and tables need."""

    mask: Mask
    certainty: NDArray[np.float32]  # [H, W]: probability of the predicted class
    lesion_probability: float | None
    unfamiliarity: Unfamiliarity | None = None  # None where the model cannot tell

    @property
    def confidence(self) -> float:
        """Mean over pixels of the probability of the predicted class."""
        return float(self.certainty.mean())


def mask_pixels(mask: Mask, classes: int) -> Mask:
    """The mask as it is saved: with two classes black and white, which any viewer shows."""
    return mask * np.uint8(255) if classes == 2 else mask


def most_probable(probabilities: NDArray[np.float32]) -> tuple[Mask, NDArray[np.float32]]:
    """[K, H, W] -> the class with the highest probability (the first of equals), and that probability."""
    mask = np.zeros(probabilities.shape[1:], np.uint8)
    best = probabilities[0]
    for index in range(1, len(probabilities)):  # a few passes over the image; argmax over the first axis is far slower
        better = probabilities[index] > best
        mask = np.where(better, np.uint8(index), mask)
        best = np.maximum(best, probabilities[index])
    return mask, best
