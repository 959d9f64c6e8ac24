"""Tiny folders in the native layout, made on the spot."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

HEIGHT, WIDTH = 48, 64


@pytest.fixture
def photo() -> Callable[[int], NDArray[np.uint8]]:
    """`photo(seed)`: a smooth picture [48, 64, 3] that looks like no other seed's."""

    def make(seed: int) -> NDArray[np.uint8]:
        coarse = np.random.default_rng(seed).integers((120, 50, 40), (230, 120, 100), (12, 16, 3), dtype=np.uint8)
        return np.array(Image.fromarray(coarse).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))

    return make


@pytest.fixture
def blob() -> NDArray[np.uint8]:
    """A mask [48, 64] of 0 and 1 with one lesion, smooth enough to survive compression."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    mask: NDArray[np.uint8] = ((y - 20) ** 2 + (x - 30) ** 2 < 12**2).astype(np.uint8)
    return mask


@pytest.fixture
def make_folder(tmp_path: Path, photo: Callable[[int], NDArray[np.uint8]]) -> Callable[..., Path]:
    """`make_folder("a", ["x", "y"], labels="image,label\\nx,lesion\\n")`: a folder with those images and files."""

    def make(
        name: str = "set",
        images: list[str] | None = None,
        masks: Mapping[str, NDArray[Any]] | None = None,
        labels: str | None = None,
        classes: str | None = None,
    ) -> Path:
        folder = tmp_path / name
        (folder / "images").mkdir(parents=True)
        for seed, image in enumerate(images if images is not None else ["a", "b", "c"]):
            Image.fromarray(photo(seed)).save(folder / "images" / f"{image}.png")
        for image, mask in (masks or {}).items():
            (folder / "masks").mkdir(exist_ok=True)
            Image.fromarray(mask).save(folder / "masks" / f"{image}.png")
        for file, text in (("labels.csv", labels), ("classes.yaml", classes)):
            if text is not None:
                (folder / file).write_text(text, encoding="utf-8")
        return folder

    return make
