"""Black frames and overlays, drawn on purpose."""

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from endotransfer.data.inspect.frames import channels, constant_share, measure_frame, summarise_frames

Pixels = NDArray[np.uint8]


@pytest.fixture
def tissue() -> Pixels:
    """Reddish texture that fills an image of 256 x 320."""
    rng = np.random.default_rng(0)
    noise = rng.integers(-20, 20, (256, 320, 3))
    return (np.array([180, 100, 80]) + noise).clip(0, 255).astype(np.uint8)


def framed(tissue: Pixels) -> Pixels:
    view = np.zeros_like(tissue)
    view[:, 100:300] = tissue[:, 100:300]
    return view


def test_bare_tissue_has_no_frame(tissue: Pixels) -> None:
    frame = measure_frame(tissue)
    assert frame.box == (0.0, 0.0, 1.0, 1.0)
    assert (frame.dark_frame, frame.dark_corners, frame.text, frame.coloured_box) == (False, 0, False, False)


def test_the_box_of_a_black_frame(tissue: Pixels) -> None:
    frame = measure_frame(framed(tissue))
    assert frame.box == (0.0, 100 / 320, 1.0, 300 / 320)
    assert frame.dark_frame
    assert frame.dark_corners == 4
    assert not frame.text


def test_letters_in_the_frame_are_seen_at_any_size(tissue: Pixels) -> None:
    image = Image.fromarray(framed(tissue))
    draw = ImageDraw.Draw(image)
    for line in range(4):
        draw.text((8, 40 + 16 * line), "Name 12.34", fill=(255, 255, 255))
    assert measure_frame(np.asarray(image)).text
    assert measure_frame(np.asarray(image.resize((1280, 1024)))).text
    assert measure_frame(np.asarray(image)).dark_frame


def test_a_bright_spot_inside_dark_tissue_is_no_letter(tissue: Pixels) -> None:
    view = tissue.copy()
    view[80:180, 80:220] = 10
    view[120:124, 100:200:6] = 255
    assert not measure_frame(view).text


@pytest.mark.parametrize(("colour", "seen"), [((25, 170, 140), True), ((20, 20, 200), True), ((200, 90, 80), False)])
def test_coloured_boxes(tissue: Pixels, colour: tuple[int, int, int], seen: bool) -> None:
    view = framed(tissue)
    view[190:250, 10:80] = colour
    assert measure_frame(view).coloured_box is seen


def test_blue_dye_is_no_box(tissue: Pixels) -> None:
    view = tissue.copy()
    view[::3, ::2] = (10, 60, 200)
    assert not measure_frame(view).coloured_box


def test_a_thin_line_of_colour_is_no_box(tissue: Pixels) -> None:
    view = tissue.copy()
    for row in range(250):
        view[row : row + 6, row : row + 6] = (0, 200, 0)
    assert not measure_frame(view).coloured_box


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (2, 500)])
def test_tiny_and_black_images(size: tuple[int, int]) -> None:
    frame = measure_frame(np.zeros((*size, 3), np.uint8))
    assert frame.box == (0.0, 0.0, 0.0, 0.0)
    assert not frame.text


def test_channel_extremes_equal_the_axis_reduction(tissue: Pixels) -> None:
    assert np.array_equal(channels(np.maximum, tissue), tissue.max(axis=2))
    assert np.array_equal(channels(np.minimum, tissue), tissue.min(axis=2))


def test_a_logo_that_never_moves_is_constant() -> None:
    stack = np.random.default_rng(0).integers(0, 255, (40, 32, 32, 3), dtype=np.uint8)
    assert constant_share(list(stack)) == 0
    stack[:, :8, :16] = 200
    assert constant_share(list(stack)) == 8 * 16 / 32**2
    stack[:, :8, :16] = 5  # a black corner is a frame, not an overlay
    assert constant_share(list(stack)) == 0
    assert constant_share(list(stack[:5])) == 0


def test_summary_counts_shares(tissue: Pixels) -> None:
    summary = summarise_frames([measure_frame(tissue), measure_frame(framed(tissue))], [])
    assert summary["dark_frame"] == 0.5
    assert summary["typical_box"]["left"] == 50 / 320
    assert summarise_frames([], []) == {}
