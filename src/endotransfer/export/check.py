"""Compare the exported graph with torch on images before a bundle is handed out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from endotransfer.data.phantom.generate import render
from endotransfer.data.read.read_image import read_image
from endotransfer.errors import CheckpointError
from endotransfer.predict.inputs import list_inputs
from endotransfer.predict.prediction import Pixels, Prediction
from endotransfer.predict.predictor import Predictor

LARGEST = 1e-3  # difference of a probability
EACH = 3  # images of each size
MOST = 50  # images of a user's folder


class ExportedNetwork(Protocol):
    """Anything that ONNX Runtime runs; `size` of the images that it takes, None: any."""

    size: tuple[int, int] | None

    def predict(self, image: Pixels, /) -> Prediction: ...


@dataclass(frozen=True)
class Check:
    images: int
    sizes: list[tuple[int, int]]  # (H, W)
    largest: float  # difference of a probability anywhere

    def sentence(self) -> str:
        sizes = ", ".join(f"{width} x {height}" for height, width in self.sizes)
        return f"it differs from torch by at most {self.largest:.1e} in probability ({self.images} images of {sizes})"


def check_against_torch(
    bundle: ExportedNetwork, torch_model: Predictor, shape: tuple[int, int], folder: Path | None = None
) -> Check:
    """Compare on phantom images of two sizes (one, where the graph takes no other), and on those of `folder`."""
    sizes = [bundle.size] if bundle.size else [shape, (shape[0] * 3 // 4 + 5, shape[1] * 3 // 2 + 3)]
    largest, count, checked = 0.0, 0, dict.fromkeys(sizes)
    for image in [*phantoms(sizes), *_images_of(folder, bundle.size)]:
        ours, theirs = bundle.predict(image), torch_model.predict(image)
        largest = max(largest, float(np.abs(ours.probabilities - theirs.probabilities).max()))
        if ours.lesion_probability is not None and theirs.lesion_probability is not None:
            largest = max(largest, abs(ours.lesion_probability - theirs.lesion_probability))
        count += 1
        checked[(image.shape[0], image.shape[1])] = None
    if not largest <= LARGEST:
        raise CheckpointError(
            f"the exported graph differs from torch by {largest:.2g} in probability, more than {LARGEST:g}; "
            "predict with the run itself, and please report it."
        )
    return Check(count, list(checked), largest)


def phantoms(sizes: Sequence[tuple[int, int]], each: int = EACH) -> Iterator[Pixels]:
    """Drawn endoscopy images of the target domain, `each` of every (H, W)."""
    for height, width in sizes:
        for index in range(each):
            square = render("capsule", index, seed=0, size=64).image
            yield np.asarray(Image.fromarray(square).resize((width, height), Image.Resampling.BICUBIC))


def _images_of(folder: Path | None, size: tuple[int, int] | None) -> list[Pixels]:
    if folder is None:
        return []
    files = [one.file for one in list_inputs([folder], videos=False)][:MOST]
    return [image for image in map(read_image, files) if size is None or image.shape[:2] == size]
