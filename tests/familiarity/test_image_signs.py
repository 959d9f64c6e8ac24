"""What is told of a picture without a network, against literal loops and plain cases."""

import numpy as np
import pytest
from PIL import Image

from endotransfer.familiarity.image_signs import LONGEST, SIGNS, image_signs, looked_size
from tests.familiarity.pictures import SIZE, Picture, cloud


def told(picture: Picture) -> dict[str, float]:
    return dict(
        zip(SIGNS, image_signs(picture, None if max(picture.shape) > LONGEST else picture.shape[:2]), strict=True)
    )


def literal(picture: Picture) -> dict[str, float]:
    """Pixel by pixel."""
    height, width = picture.shape[:2]
    red, green, blue = (picture[..., channel].astype(float) / 255 for channel in range(3))
    light = [[(red[y, x] + 2 * green[y, x] + blue[y, x]) / 4 for x in range(width)] for y in range(height)]
    half = [
        [sum(light[2 * y + dy][2 * x + dx] for dy in (0, 1) for dx in (0, 1)) / 4 for x in range(width // 2)]
        for y in range(height // 2)
    ]

    def edges(rows: list[list[float]]) -> float:
        found = [
            (4 * rows[y][x] - rows[y - 1][x] - rows[y + 1][x] - rows[y][x - 1] - rows[y][x + 1]) ** 2
            for y in range(1, len(rows) - 1)
            for x in range(1, len(rows[0]) - 1)
        ]
        return float(np.log(np.mean(found) + 1e-6))

    flat = np.array(light).ravel()
    values = [*np.quantile(flat, [0.1, 0.5, 0.9]), np.log(flat.var() + 1e-5), edges(light), edges(half)]
    values += [values[4] - values[5], (red - green).mean(), (green - blue).mean()]
    values += [np.log((red - green).std() + 1e-3), np.log((green - blue).std() + 1e-3)]
    values += [(flat < 0.05).mean() ** 0.5, (flat > 0.95).mean() ** 0.5]
    return dict(zip(SIGNS, map(float, values), strict=True))


@pytest.mark.parametrize("seed", [0, 1])
def test_signs_equal_a_walk_over_the_pixels(seed: int) -> None:
    picture = cloud(np.random.default_rng(seed))[: 47 - seed, :61]
    assert told(picture) == pytest.approx(literal(picture), abs=2e-4)


@pytest.mark.parametrize("value", [0, 128, 255])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4), SIZE])
def test_a_picture_of_one_colour_and_a_tiny_one_have_finite_signs(value: int, size: tuple[int, int]) -> None:
    signs = image_signs(np.full((*size, 3), value, np.uint8), size)
    assert signs.shape == (len(SIGNS),) and np.isfinite(signs).all()


def test_the_copy_that_is_looked_at_is_that_of_the_network_or_smaller() -> None:
    assert looked_size(SIZE) == SIZE
    assert looked_size((512, 1024)) == (128, 256)
    assert looked_size(None) == (LONGEST, LONGEST)
    assert looked_size((1, 10_000))[0] == 4
    large = np.kron(cloud(np.random.default_rng(0)), np.ones((4, 4, 1), np.uint8))
    small = np.asarray(Image.fromarray(large).resize(SIZE[::-1], Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(image_signs(large, SIZE), image_signs(small, SIZE))
