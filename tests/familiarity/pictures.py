"""Pictures of one kind, drawn: reddish clouds with a fine texture."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from endotransfer.familiarity.familiarity import Familiarity, fit_familiarity
from endotransfer.familiarity.image_signs import image_signs

Picture = NDArray[np.uint8]
SIZE = (48, 64)
CHANNELS = 12


def cloud(draw: np.random.Generator) -> Picture:
    tissue = draw.integers(60, 140, (4, 5, 3)) + np.array([60, 10, 0])
    smooth = Image.fromarray(tissue.astype(np.uint8)).resize(SIZE[::-1], Image.Resampling.BICUBIC)
    rough = np.asarray(smooth, dtype=np.float64) + draw.normal(0, 12, (*SIZE, 1))
    return np.asarray(Image.fromarray(np.clip(rough, 0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.8)))


def features_of(picture: Picture) -> NDArray[np.float64]:
    """Stands for a network: fixed random projections of a small copy."""
    small = np.asarray(Image.fromarray(picture).resize((6, 5)), dtype=np.float64).ravel() / 255
    return np.maximum(np.random.default_rng(7).normal(size=(CHANNELS, small.size)) @ small, 0)


def fitted(count: int = 80, *, features: bool = True, seed: int = 0) -> Familiarity:
    draw = np.random.default_rng(seed)
    pictures = [cloud(draw) for _ in range(count)]
    signs = np.stack([image_signs(one, SIZE) for one in pictures])
    seen = np.stack([features_of(one) for one in pictures]) if features else None
    return fit_familiarity(signs, seen, [str(index // 2) for index in range(count)], SIZE)
