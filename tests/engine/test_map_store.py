"""Stored maps read as the numbers that were stored, and take less room than plain grey levels."""

import io
from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.phantom.generate import render
from endotransfer.engine.map_store import MapStore, encoded
from tests.properties import examples


@examples(100)
@given(st.tuples(st.integers(1, 20), st.integers(1, 20)).flatmap(lambda shape: arrays(np.uint8, shape)))
def test_any_map_reads_as_it_was(values: NDArray[np.uint8]) -> None:
    with Image.open(io.BytesIO(encoded(values)), formats=["PNG"]) as image:
        np.testing.assert_array_equal(np.asarray(image, np.uint8), values)
        np.testing.assert_array_equal(np.asarray(image.convert("L")), values)  # and is looked at as the same greys


def test_a_pass_is_read_back(tmp_path: Path) -> None:
    maps = torch.randint(0, 3, (4, 6, 5), dtype=torch.uint8)
    store = MapStore(tmp_path, 3)
    store.open_pass(2)
    store.store([f"a/{index}" for index in range(4)], maps)
    store.flush()
    store.close_pass(2)
    for index in range(4):
        np.testing.assert_array_equal(store.read(2, f"a/{index}"), maps[index].numpy())


def test_labels_take_less_room_than_as_grey_levels() -> None:
    scene = render("capsule", 0, seed=0, size=512, variant="five_class").mask
    grey = io.BytesIO()
    Image.fromarray(scene).save(grey, "PNG", compress_level=1)
    assert np.unique(scene).size > 3 and len(encoded(scene)) < len(grey.getvalue())
