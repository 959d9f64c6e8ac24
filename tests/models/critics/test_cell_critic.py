"""The critic of single cells: layers, first weights, and that no cell sees another."""

import pytest
import torch
from torch import nn

from endotransfer.models.critics.cell_critic import CellCritic


def test_it_is_three_convolutions_of_one_cell_with_two_dropouts() -> None:
    layers = list(CellCritic(7, 3).layers)
    convolutions = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    assert [(c.in_channels, c.out_channels, c.kernel_size) for c in convolutions] == [
        (7, 1024, (1, 1)), (1024, 1024, (1, 1)), (1024, 3, (1, 1)),
    ]  # fmt: skip
    assert [layer.p for layer in layers if isinstance(layer, nn.Dropout)] == [0.5, 0.5]
    assert sum(isinstance(layer, nn.ReLU) for layer in layers) == 2 and isinstance(layers[-1], nn.Conv2d)


def test_first_weights_are_tiny_and_biases_nil() -> None:
    for name, parameter in CellCritic(64).named_parameters():
        if "bias" in name:
            assert parameter.abs().max() == 0
        else:
            assert parameter.std().item() == pytest.approx(1e-3, rel=0.1)


def test_a_cell_is_judged_by_itself() -> None:
    critic = CellCritic(4).eval()
    features = torch.randn(2, 4, 3, 5)
    changed = features.clone()
    changed[1, :, 2, 4] += 1
    differs = (critic(features) != critic(changed)).any(1)
    assert critic(features).shape == (2, 2, 3, 5)
    assert differs.nonzero().tolist() == [[1, 2, 4]]


def test_without_dropout_two_forwards_in_training_agree() -> None:
    features = torch.randn(1, 4, 3, 3)
    with_noise, without = CellCritic(4), CellCritic(4, dropout=False)
    assert not torch.equal(with_noise(features), with_noise(features))
    assert torch.equal(without(features), without(features))
