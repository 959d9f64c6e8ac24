"""A sliding window sees what the whole image shows, wherever a pixel's neighbourhood cannot matter."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.config import experiment_from
from endotransfer.inference import InferenceGeometry, geometry_of, slide, starts


def pixel_by_pixel(images: Tensor) -> SegOutput:
    """Three logits of each pixel, from its own colour alone."""
    return SegOutput(torch.cat([images[:, :2] * 3, 1 - images[:, 2:]], 1), None, images)


def place_in_window(images: Tensor) -> SegOutput:
    """One logit: how far right in its window a pixel lies; another one that is always 1."""
    across = torch.arange(images.shape[-1], dtype=torch.float32).expand(len(images), 1, *images.shape[-2:])
    return SegOutput(torch.cat([across, torch.ones_like(across)], 1), None, images)


def coarse(images: Tensor) -> SegOutput:
    """At an eighth of the size, as networks answer."""
    return SegOutput(torch.nn.functional.avg_pool2d(images, 8), None, images)


@given(st.integers(1, 200), st.integers(1, 80))
def test_windows_cover_a_side_and_overlap_by_a_third(length: int, window: int) -> None:
    first = starts(length, window)
    assert first[0] == 0
    if length <= window:
        assert first == [0]
        return
    assert first[-1] == length - window
    assert first == sorted(set(first))
    steps = [after - before for before, after in itertools.pairwise(first)]
    assert all(step <= max(1, 2 * window / 3) for step in steps)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 50), st.integers(1, 50))
def test_where_neighbours_do_not_matter_windows_equal_the_whole(h: int, w: int, tall: int, wide: int) -> None:
    images = torch.rand(2, 3, h, w, generator=torch.Generator().manual_seed(h * w))
    torch.testing.assert_close(slide(pixel_by_pixel, images, (tall, wide)), pixel_by_pixel(images).logits)


def test_overlapping_windows_are_averaged() -> None:
    """Windows of 6 in a row of 10 begin at 0 and 4: pixels 4 and 5 are seen by both."""
    logits = slide(place_in_window, torch.zeros(1, 3, 4, 10), (4, 6))
    assert starts(10, 6) == [0, 4]
    expected = [0, 1, 2, 3, (4 + 0) / 2, (5 + 1) / 2, 2, 3, 4, 5]
    assert logits[0, 0, 0].tolist() == expected
    assert torch.equal(logits[:, 1], torch.ones(1, 4, 10))


def test_a_window_as_large_as_the_image_is_the_whole_image() -> None:
    images = torch.rand(2, 3, 32, 48)
    expected = coarse(images).at((32, 48))
    assert torch.equal(slide(coarse, images, (32, 48)), expected)
    assert torch.equal(slide(coarse, images, (64, 64)), expected)
    assert slide(coarse, images, (32, 32)).shape == (2, 3, 32, 48)


def test_without_a_window_the_network_is_called_as_it_is() -> None:
    assert InferenceGeometry((32, 32)).wrap(coarse) is coarse
    seen = InferenceGeometry(None, (16, 16)).wrap(pixel_by_pixel)(torch.rand(1, 3, 20, 24))
    assert seen.logits.shape == (1, 3, 20, 24)
    assert seen.tag_logits is None


@pytest.mark.parametrize(
    ("evaluation", "expected"),
    [
        ({}, InferenceGeometry((64, 96))),
        ({"size": [128, 192]}, InferenceGeometry((128, 192))),
        ({"size": "own", "window": [64, 64]}, InferenceGeometry(None, (64, 64))),
    ],
)
def test_what_an_experiment_says(evaluation: dict[str, object], expected: InferenceGeometry) -> None:
    data = {"source": "a", "size": [64, 96], "tags": False}
    assert geometry_of(experiment_from({"data": data, "evaluation": evaluation})) == expected
