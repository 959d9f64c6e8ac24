"""Hidden blocks against a twin that asks, pixel by pixel, which block it lies in."""

import pytest
import torch

from endotransfer.data.pipeline.block_mask import block_grid, hidden_blocks


def literal_hidden(chances: list[list[float]], height: int, width: int, ratio: float) -> list[list[bool]]:
    rows, columns = len(chances), len(chances[0])
    return [[chances[y * rows // height][x * columns // width] < ratio for x in range(width)] for y in range(height)]


@pytest.mark.parametrize(("size", "grid"), [((256, 256), (8, 8)), ((32, 48), (8, 12)), ((33, 50), (8, 12))])
def test_equals_the_literal_twin(size: tuple[int, int], grid: tuple[int, int]) -> None:
    assert block_grid(size, 0.125) == grid
    chances = torch.rand(2, *grid, generator=torch.Generator().manual_seed(0))
    hidden = hidden_blocks(chances, size, 0.7)
    assert hidden.tolist() == [literal_hidden(image, *size, 0.7) for image in chances.tolist()]


@pytest.mark.parametrize(
    ("size", "share", "grid"),
    [((512, 1024), 0.125, (8, 16)), ((64, 64), 0.0625, (16, 16)), ((32, 32), 0.001, (32, 32)), ((32, 32), 1, (1, 1))],
)
def test_blocks_are_square_and_at_least_a_pixel(size: tuple[int, int], share: float, grid: tuple[int, int]) -> None:
    assert block_grid(size, share) == grid


def test_about_the_ratio_is_hidden() -> None:
    chances = torch.rand(200, 8, 8, generator=torch.Generator().manual_seed(1))
    assert hidden_blocks(chances, (32, 32), 0.7).float().mean().item() == pytest.approx(0.7, abs=0.02)
