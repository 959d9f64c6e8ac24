"""Inference step by step, each against its literal twin; and evaluation and prediction give the same masks."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.config import experiment_from
from endotransfer.data.pipeline.working_size import resize_image
from endotransfer.inference import (
    InferenceGeometry,
    forward_views,
    geometry_of,
    logits_at,
    mean_features,
    mean_probabilities,
    network_input,
    slide,
    starts,
    tag_probabilities,
    to_batch,
)


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


def corner_tag(images: Tensor) -> SegOutput:
    """Logits from a lopsided filter at half the size; the tag head looks at one corner."""
    kernel = torch.arange(18.0).reshape(2, 3, 1, 3) / 9 - 1
    return SegOutput(torch.nn.functional.conv2d(images, kernel, stride=2), 9 * images[:, :2, 0, 0], images)


def pictures(*sizes: tuple[int, int]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes]


def test_a_batch_holds_the_resized_pixels_in_the_unit_interval() -> None:
    images = pictures((40, 30), (16, 20), (9, 50))
    images[1].setflags(write=False)  # as Pillow hands them out
    inputs = [network_input(image, (16, 20)) for image in images]
    batch = to_batch(inputs, torch.device("cpu"), torch.float64)
    assert batch.shape == (3, 3, 16, 20) and batch.dtype == torch.float64 and batch.is_contiguous()
    for one, image in zip(batch, images, strict=True):
        expected = resize_image(image, (16, 20)).transpose(2, 0, 1) / 255
        np.testing.assert_array_equal(one.numpy(), expected)
    np.testing.assert_array_equal(network_input(images[2], None).numpy(), images[2])


def test_one_view_is_the_network_itself_with_the_mean_of_its_features() -> None:
    images = torch.rand(2, 3, 8, 12)
    (output,) = forward_views(corner_tag, images)
    assert torch.equal(output.logits, corner_tag(images).logits)
    torch.testing.assert_close(output.features, corner_tag(images).features.mean((2, 3), keepdim=True))
    np.testing.assert_array_equal(mean_features([output]), output.features[:, :, 0, 0].numpy())


def test_mirrored_views_are_flipped_back_and_averaged() -> None:
    images = torch.rand(2, 3, 8, 12, generator=torch.Generator().manual_seed(0))
    outputs = forward_views(corner_tag, images, flips=True)
    tags = tag_probabilities(outputs)
    assert tags is not None
    for index in range(2):
        views, corners = [], []
        for axes in ((), (2,), (1,), (1, 2)):
            said = corner_tag(images[index].flip(axes)[None])
            views.append(logits_at(SegOutput(said.logits.flip([axis + 1 for axis in axes]), None, images), 0, (9, 7)))
            assert said.tag_logits is not None
            corners.append(said.tag_logits.softmax(1)[0, 1])
        expected = torch.stack([view.softmax(0) for view in views]).mean(0)
        torch.testing.assert_close(mean_probabilities(outputs, index, (9, 7)), expected)
        assert float(tags[index]) == pytest.approx(float(torch.stack(corners).mean()))


def test_a_network_without_tag_head_has_no_tag_probability() -> None:
    assert tag_probabilities(forward_views(coarse, torch.rand(3, 3, 8, 8), flips=True)) is None


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
