"""Random fields of the phantom, and its compression."""

import numpy as np
import pytest

from endotransfer.data.phantom.optics import compress
from endotransfer.data.phantom.random_fields import Wrapping, cloud, smoothstep, stream, stretch


def test_streams_follow_their_names() -> None:
    assert stream(1, "a").random() == stream(1, "a").random()
    assert len({stream(*key).random() for key in [(1, "a"), (1, "b"), (2, "a"), (11, "a"), (-1, "a")]}) == 5


def test_stretch_equals_the_spline_written_out() -> None:
    """Against B(t) summed over every knot, pixel by pixel."""

    def basis(t: float) -> float:
        t = abs(t)
        return (4 - 6 * t**2 + 3 * t**3) / 6 if t < 1 else (2 - t) ** 3 / 6 if t < 2 else 0.0

    knots = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    height, width, expected = 7, 9, np.zeros((7, 9))
    for row in range(height):
        for column in range(width):
            y, x = (row + 0.5) / height * 3 + 1, (column + 0.5) / width * 5 + 1
            expected[row, column] = sum(knots[j, i] * basis(y - j) * basis(x - i) for j in range(6) for i in range(8))
    np.testing.assert_allclose(stretch(knots, height, width), expected, atol=1e-5)


def test_clouds_have_about_unit_variance_and_no_mean() -> None:
    fields = np.stack([cloud(stream(k), 12, 64) for k in range(40)])
    assert abs(fields.mean()) < 0.1 and 0.85 < fields.std() < 1.15


def test_wrapping_noise_closes_around_the_tube() -> None:
    noise = Wrapping(stream("tube"), 8, 4)
    along = np.linspace(0, 1, 5, dtype=np.float32)[None]
    before, after = noise.at(np.full_like(along, 0.001), along), noise.at(np.full_like(along, 1.001), along)
    np.testing.assert_allclose(before, after, atol=1e-4)
    assert np.abs(noise.at(np.full_like(along, 0.0), along) - noise.at(np.full_like(along, 0.999), along)).max() < 0.1


def test_smoothstep_rises_from_zero_to_one() -> None:
    x = np.array([-1, 0, 0.5, 1, 2], np.float32)
    np.testing.assert_allclose(smoothstep(0, 1, x), [0, 0, 0.5, 1, 1])


@pytest.mark.parametrize("size", [16, 21])
def test_compression_keeps_the_picture_and_loses_the_fine_waves(size: int) -> None:
    picture = 0.5 + 0.1 * stream("noise").standard_normal((size, size, 3)).astype(np.float32)
    squeezed = compress(picture, 1.0)
    assert squeezed.shape == picture.shape
    assert abs(squeezed.mean() - picture.mean()) < 0.01
    assert squeezed.std() < picture.std()
    np.testing.assert_allclose(compress(picture, 1e-4), picture, atol=1e-3)
