"""Critics of single cells: layers, first weights, and that no cell sees another."""

import pytest
import torch
from torch import nn

from endotransfer.models.critics.cell_critics import CellCritic, FeatureCritic, ScoreCritic


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


def test_no_cell_sees_another() -> None:
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


def test_cgans_critic_is_three_layers_that_see_one_cell_each() -> None:
    features = torch.randn(3, 6, 8, 9, generator=torch.Generator().manual_seed(0))
    critic = FeatureCritic(6)
    convolutions = [layer for layer in critic.layers if isinstance(layer, nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [512, 512, 1]
    scores = critic(features)
    assert scores.shape == (3, 1, 8, 9)
    torch.testing.assert_close(critic(features[:, :, 2:3, 4:5]), scores[:, :, 2:3, 4:5])


def test_cycadas_critic_has_the_layers_of_the_recipe() -> None:
    layers = list(ScoreCritic(5).layers)
    convolutions = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    assert [(conv.in_channels, conv.out_channels) for conv in convolutions] == [(5, 512), (512, 256), (256, 2)]
    assert all(conv.kernel_size == (1, 1) for conv in convolutions)
    assert [layer.p for layer in layers if isinstance(layer, nn.Dropout2d)] == [0.5, 0.5]


def test_cycadas_critic_gives_each_cell_the_odds_of_target() -> None:
    critic = ScoreCritic(3, dropout=0.0)
    scores = torch.randn(2, 3, 4, 5)
    found = critic(scores)
    assert found.shape == (2, 1, 4, 5)
    torch.testing.assert_close(critic(scores[:, :, 1:2, 2:3]), found[:, :, 1:2, 2:3])
    torch.testing.assert_close(found.sigmoid()[:, 0], critic.layers(scores).softmax(1)[:, 1])


def test_cycadas_critic_without_dropout_is_not_random() -> None:
    scores = torch.randn(1, 2, 4, 4)
    for dropout, same in ((0.0, True), (0.5, False)):
        critic = ScoreCritic(2, dropout).train()
        assert torch.equal(critic(scores), critic(scores)) == same
