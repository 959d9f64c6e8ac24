"""CycleGAN's losses against their definitions, number by number."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.losses.cycle_consistency import cycle_loss, image_critic_loss, realism_loss
from tests.properties import examples

numbers = st.lists(st.floats(-10, 10), min_size=1, max_size=12)


def as_map(values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).view(1, 1, 1, -1)


@given(numbers, numbers)
@examples(100)
def test_least_squares_are_the_literal_ones(real: list[float], translated: list[float]) -> None:
    right = sum((score - 1) ** 2 for score in real) / len(real)
    fooled = sum(score**2 for score in translated) / len(translated)
    found = image_critic_loss(as_map(real), as_map(translated))
    assert found.item() == pytest.approx((right + fooled) / 2, rel=1e-9, abs=1e-12)
    wanted = sum((score - 1) ** 2 for score in translated) / len(translated)
    assert realism_loss(as_map(translated)).item() == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_a_critic_that_is_right_has_no_loss_and_one_that_is_fooled_gives_none() -> None:
    ones, zeros = torch.ones(2, 1, 3, 3), torch.zeros(2, 1, 3, 3)
    assert image_critic_loss(ones, zeros).item() == 0
    assert realism_loss(ones).item() == 0
    assert realism_loss(zeros).item() == 1


def test_cycle_loss_is_the_mean_absolute_difference() -> None:
    images = torch.zeros(2, 3, 4, 4)
    back = images.clone()
    back[0] = 0.5
    back[1, 0] = -0.3
    assert cycle_loss(images, back).item() == pytest.approx((0.5 + 0.1) / 2)


def test_half_precision_is_averaged_in_float32() -> None:
    scores = torch.full((1, 1, 50, 50), 0.5, dtype=torch.bfloat16)
    for loss in (realism_loss(scores), image_critic_loss(scores, scores)):
        assert loss.dtype == torch.float32
        assert loss.item() == pytest.approx(0.25)
