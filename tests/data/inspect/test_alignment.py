"""Alikeness of textures equals trying every shift; frames and overlays do not count."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.inspect import alignment
from endotransfer.data.inspect.alignment import alikeness, texture

Photo = Callable[[int], NDArray[np.uint8]]


def thumb(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(Image.fromarray(pixels).resize((32, 32), Image.Resampling.BOX))


def test_alikeness_equals_trying_every_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    textures = np.random.default_rng(0).normal(size=(5, 32, 32)).astype(np.float32)
    pairs = np.array([(i, j) for i in range(5) for j in range(i)])
    literal = [
        max((np.roll(textures[j], (dy, dx), (0, 1)) * textures[i]).sum() for dy in range(-2, 3) for dx in range(-2, 3))
        for i, j in pairs
    ]
    assert alikeness(textures, pairs) == pytest.approx(literal, rel=1e-4)
    monkeypatch.setattr(alignment, "_BLOCK", 3)
    assert alikeness(textures, pairs) == pytest.approx(literal, rel=1e-4)


def test_no_pairs(photo: Photo) -> None:
    assert alikeness(np.stack([texture(thumb(photo(0)))]), np.empty((0, 2), np.intp)).shape == (0,)


def test_texture_has_unit_length_and_ignores_brightness(photo: Photo) -> None:
    bright = texture(thumb(photo(0)))
    assert np.linalg.norm(bright) == pytest.approx(1, abs=1e-5)
    assert (bright * texture((thumb(photo(0)) * 0.8).astype(np.uint8))).sum() > 0.98


def test_frame_and_coloured_box_leave_no_texture(photo: Photo) -> None:
    view = thumb(photo(0)).copy()
    view[:, :10] = 5
    view[20:, :8] = (25, 170, 140)
    assert not texture(view)[:, :10].any()
    assert texture(view)[:, 12:].any()


def test_a_picture_without_tissue_is_like_nothing() -> None:
    assert not texture(np.zeros((32, 32, 3), np.uint8)).any()
