"""SEAM's regularisation: nothing where maps agree, and what they differ by where they do not."""

import pytest
import torch
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.equivariance import equivariance_loss
from endotransfer.models.activation_maps import normalised
from tests.gradients import gradient


def test_it_is_the_mean_distance_of_the_maps_of_lesion_images() -> None:
    torch.manual_seed(0)
    whole, small = torch.randn(4, 6, 8, dtype=torch.float64), torch.randn(4, 3, 4, dtype=torch.float64)
    tags = torch.tensor([LESION, NORMAL, UNKNOWN_TAG, LESION])
    expected = 0.0
    for image in (0, 3):
        for row in range(3):
            for column in range(4):
                square = normalised(whole)[image, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
                expected += abs(square.mean().item() - normalised(small)[image, row, column].item()) / 24
    assert equivariance_loss(whole, small, tags).item() == pytest.approx(expected)


def test_maps_that_agree_up_to_a_factor_cost_nothing() -> None:
    small = torch.zeros(1, 4, 4)
    small[:, 1:3, 1:3] = 2.0
    whole = 3 * interpolate(small[:, None], scale_factor=2, mode="nearest")[:, 0]
    assert equivariance_loss(whole, small, torch.tensor([LESION])).item() == pytest.approx(0, abs=1e-6)
    assert equivariance_loss(whole.flip(-1).roll(3, -1), small, torch.tensor([LESION])).item() > 0.1


def test_both_maps_are_asked_to_move_and_a_batch_without_lesions_asks_nothing() -> None:
    torch.manual_seed(0)
    whole, small = torch.rand(2, 8, 8, requires_grad=True), torch.rand(2, 4, 4, requires_grad=True)
    slope = gradient(equivariance_loss(whole, small, torch.tensor([LESION, NORMAL])), whole)
    assert small.grad is not None
    assert all(part[0].any() and not part[1].any() for part in (slope, small.grad))
    assert equivariance_loss(whole, small, torch.tensor([NORMAL, UNKNOWN_TAG])).item() == 0
