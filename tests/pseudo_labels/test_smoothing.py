"""Scores smooth among neighbours that look alike, and stop at edges of colour."""

import numpy as np
import pytest
import torch
from torch import Tensor

from endotransfer.pseudo_labels.smoothing import EDGE, smooth, steps_for


def literal(scores: Tensor, colours: Tensor, steps: int) -> np.ndarray:
    """The formula, one place at a time: scores [h, w], colours [3, h, w]."""
    state, colour = scores.double().numpy(), colours.double().numpy()
    height, width = state.shape
    for _ in range(steps):
        new = np.zeros_like(state)
        for y in range(height):
            for x in range(width):
                total = weight = 0.0
                for v in range(max(0, y - 1), min(height, y + 2)):
                    for u in range(max(0, x - 1), min(width, x + 2)):
                        w = np.exp(-EDGE * ((colour[:, y, x] - colour[:, v, u]) ** 2).sum())
                        total, weight = total + w * state[v, u], weight + w
                new[y, x] = total / weight
        state = new
    return state


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_it_is_the_formula(steps: int) -> None:
    torch.manual_seed(0)
    scores, images = torch.randn(2, 5, 7, dtype=torch.float64), 0.2 * torch.rand(2, 3, 5, 7, dtype=torch.float64)
    ours = smooth(scores, images, steps)
    for one, score, image in zip(ours, scores, images, strict=True):
        np.testing.assert_allclose(one, literal(score, image, steps), atol=1e-12)


def test_colours_are_averaged_at_each_place() -> None:
    torch.manual_seed(0)
    scores, images = torch.randn(1, 3, 4), torch.rand(1, 3, 24, 32)
    at_places = images.unflatten(3, (4, 8)).unflatten(2, (3, 8)).mean((3, 5))
    torch.testing.assert_close(smooth(scores, images, 4), smooth(scores, at_places, 4))


def test_a_hole_closes_and_an_edge_holds() -> None:
    """Left half one colour, lesion but for a hole; right half another, normal but for a false alarm."""
    images = torch.zeros(1, 3, 8, 12)
    images[..., 6:] = 0.6
    scores = torch.where(torch.arange(12) < 6, 2.0, -2.0).repeat(1, 8, 1)
    scores[0, 4, 2], scores[0, 3, 9] = -2.0, 2.0
    after = smooth(scores, images, 8)
    assert (after[..., :6] > 1).all() and (after[..., 6:] < -1).all()


def test_what_is_alike_everywhere_stays_as_it_is() -> None:
    scores = torch.full((2, 6, 6), 1.5)
    torch.testing.assert_close(smooth(scores, torch.rand(2, 3, 48, 48), 20), scores)


def test_half_precision_and_autocast_do_not_blur_it() -> None:
    torch.manual_seed(0)
    scores, images = torch.randn(1, 8, 8), torch.rand(1, 3, 64, 64)
    exact = smooth(scores, images, 8)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(smooth(scores, images, 8), exact)
    assert smooth(scores.half(), images, 8).dtype == torch.float32


@pytest.mark.parametrize(
    ("sides", "asked", "steps"), [((32, 32), 8, 8), ((64, 32), 8, 16), ((12, 12), 8, 2), ((9, 9), 0, 0)]
)
def test_a_larger_map_takes_more_steps(sides: tuple[int, int], asked: int, steps: int) -> None:
    assert steps_for(torch.zeros(3, *sides), asked) == steps


def test_a_spot_spreads_as_wide_on_a_map_of_twice_the_sides() -> None:
    """The deviation of a spot, as a share of the image, is that of the walk: sqrt(2 / 3) places a step."""
    widths = []
    for side in (32, 64):
        scores = torch.zeros(1, side, side)
        scores[0, side // 2, side // 2] = 1
        after = smooth(scores, torch.zeros(1, 3, side, side), steps_for(scores, 8))[0]
        places = torch.arange(side) - side // 2
        widths.append((((after.sum(0) * places.square()).sum() / after.sum()).sqrt() / side).item())
    assert widths == pytest.approx([(8 * 2 / 3) ** 0.5 / 32] * 2, rel=0.02)
