"""Pixel-adaptive refinement against its equations, pixel by pixel."""

import math
import statistics

import pytest
import torch
from torch import Tensor

from endotransfer.pseudo_labels.pixel_refinement import neighbour_weights, refine_by_colour

AROUND = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def softmax(values: list[float]) -> list[float]:
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def places(row: int, column: int, shape: tuple[int, int], dilations: tuple[int, ...]) -> list[tuple[int, int]]:
    """Neighbours of a pixel; beyond the border it is the last row or column."""
    steps = [(row + d * down, column + d * right) for d in dilations for down, right in AROUND]
    return [(min(max(y, 0), shape[0] - 1), min(max(x, 0), shape[1] - 1)) for y, x in steps]


def literal_weights(image: Tensor, row: int, column: int, dilations: tuple[int, ...]) -> list[float]:
    """Of the neighbours of one pixel of an image [3, H, W]."""
    around = places(row, column, (image.shape[1], image.shape[2]), dilations)
    colour = [0.0] * len(around)
    for channel in image.tolist():
        values = [channel[y][x] for y, x in around]
        spread = statistics.stdev(values) + 1e-8
        for j, value in enumerate(values):
            colour[j] -= (abs(value - channel[row][column]) / spread / 0.3) ** 2 / 3
    distances = [d * math.hypot(*step) for d in dilations for step in AROUND]
    position = [-((distance / (statistics.stdev(distances) + 1e-8) / 0.3) ** 2) for distance in distances]
    pairs = zip(softmax(colour), softmax(position), strict=True)
    return [(like + 0.01 * near) / 1.01 for like, near in pairs]


def literal_refined(values: Tensor, image: Tensor, dilations: tuple[int, ...], rounds: int) -> Tensor:
    height, width = values.shape
    for _ in range(rounds):
        before = values.tolist()
        values = values.clone()
        for row in range(height):
            for column in range(width):
                weights = literal_weights(image, row, column, dilations)
                around = places(row, column, (height, width), dilations)
                values[row, column] = sum(w * before[y][x] for w, (y, x) in zip(weights, around, strict=True))
    return values


@pytest.mark.parametrize("dilations", [(1,), (1, 2, 6)])
def test_it_is_the_literal_one(dilations: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 3, 5, 4, dtype=torch.float64, generator=generator)
    maps = torch.rand(2, 5, 4, dtype=torch.float64, generator=generator)
    found = refine_by_colour(maps, images, dilations, rounds=2)
    for refined, values, image in zip(found, maps, images, strict=True):
        torch.testing.assert_close(refined, literal_refined(values, image, dilations, 2))


def test_weights_sum_to_1_also_in_an_image_of_one_colour() -> None:
    for images in (torch.full((1, 3, 6, 6), 0.5), torch.rand(1, 3, 6, 6)):
        weights = neighbour_weights(images)
        assert weights.shape == (1, 48, 6, 6)
        torch.testing.assert_close(weights.sum(1), torch.ones(1, 6, 6))
    constant = torch.full((1, 6, 6), 0.3)
    torch.testing.assert_close(refine_by_colour(constant, torch.rand(1, 3, 6, 6)), constant)


def test_a_blurred_map_moves_to_the_edge_of_the_colour() -> None:
    """A red square on grey; the map is a spot beside its middle."""
    images = torch.full((1, 3, 32, 32), 0.5) + 0.02 * torch.rand(
        1, 3, 32, 32, generator=torch.Generator().manual_seed(0)
    )
    square = torch.zeros(1, 32, 32, dtype=torch.bool)
    square[:, 8:20, 8:20] = True
    images[:, 0][square] = 0.9
    rows = torch.arange(32.0)
    spot = torch.exp(-((rows - 16)[:, None] ** 2 + (rows - 16) ** 2) / 60)[None]
    refined = refine_by_colour(spot, images)

    def overlap(maps: Tensor) -> float:
        found = maps > maps.quantile(1 - square.double().mean().item())
        return ((found & square).sum() / (found | square).sum()).item()

    assert overlap(spot) < 0.6
    assert overlap(refined) > 0.85
