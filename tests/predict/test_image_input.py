"""Pixels are taken as they are or refused with the remedy, before a network sees them."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import endotransfer
from endotransfer.errors import ConfigError
from endotransfer.predict.image_input import as_batch, as_pixels
from endotransfer.predict.image_predictor import ImagePredictor

RGB = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def test_pixels_and_files_come_out_the_same(images: Path) -> None:
    assert np.array_equal(as_pixels(RGB[:, ::-1]), RGB[:, ::-1])
    assert as_pixels(RGB[:, ::-1]).flags.c_contiguous
    one, two, three = as_batch([RGB, str(images / "a.png"), images / "b.png"])
    assert np.array_equal(one, RGB)
    assert np.array_equal(two, three)
    assert two.shape == (8, 6, 3)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (RGB[..., 0], r"shape \[4, 5\], not \[H, W, 3\]; it is grey: give np\.stack"),
        (np.zeros((4, 5, 4), np.uint8), r"transparency: give image\[\.\.\., :3\]"),
        (RGB.transpose(2, 0, 1), r"channels come last: give image\.transpose\(1, 2, 0\)"),
        (np.zeros((2, 4, 5, 3), np.uint8), "give a path, or RGB pixels"),
        (np.zeros((0, 5, 3), np.uint8), "give a path, or RGB pixels"),
        (RGB / 255, r"these are float64; if they are 0 to 1, give \(255 \* image\)"),
        (RGB.astype(np.int64), "these are int64; give a path, or RGB pixels"),
        (["a.png", "b.png"], "this is a list of 2; use predict_batch"),
        (None, r"the image has the shape \[\]"),
    ],
)
def test_anything_else_is_refused_with_the_remedy(top_half: ImagePredictor, image: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as told:
        top_half.predict(image)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)
    if not isinstance(image, list):
        with pytest.raises(ConfigError, match=words):
            top_half.predict_batch([image])  # type: ignore[list-item]


@pytest.mark.parametrize("image", ["a.png", Path("a.png"), RGB])
def test_one_image_is_no_batch(top_half: ImagePredictor, image: str) -> None:
    with pytest.raises(ConfigError, match="takes a list of images, and this is one; use predict"):
        top_half.predict_batch(image)


@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_whatever_computes_the_network_refuses_what_is_no_image(backend: Literal["torch", "onnx"]) -> None:
    predictor = endotransfer.load("polyp", backend=backend)  # it ships as both
    for image in (RGB[..., 0], RGB / 255, RGB.transpose(2, 0, 1)):
        with pytest.raises(ConfigError, match=r"; .*give "):
            predictor.predict_batch([image])  # type: ignore[list-item]
