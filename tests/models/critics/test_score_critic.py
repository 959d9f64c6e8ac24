"""CyCADA's critic of score maps, layer by layer."""

import torch
from torch import nn

from endotransfer.models.critics.score_critic import ScoreCritic


def test_layers_are_those_of_the_recipe() -> None:
    layers = list(ScoreCritic(5).layers)
    convolutions = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    assert [(conv.in_channels, conv.out_channels) for conv in convolutions] == [(5, 512), (512, 256), (256, 2)]
    assert all(conv.kernel_size == (1, 1) for conv in convolutions)
    assert [layer.p for layer in layers if isinstance(layer, nn.Dropout2d)] == [0.5, 0.5]


def test_each_cell_is_judged_by_itself_and_by_the_odds_of_target() -> None:
    critic = ScoreCritic(3, dropout=0.0)
    scores = torch.randn(2, 3, 4, 5)
    found = critic(scores)
    assert found.shape == (2, 1, 4, 5)
    torch.testing.assert_close(critic(scores[:, :, 1:2, 2:3]), found[:, :, 1:2, 2:3])
    torch.testing.assert_close(found.sigmoid()[:, 0], critic.layers(scores).softmax(1)[:, 1])


def test_without_dropout_nothing_is_random() -> None:
    scores = torch.randn(1, 2, 4, 4)
    for dropout, same in ((0.0, True), (0.5, False)):
        critic = ScoreCritic(2, dropout).train()
        assert torch.equal(critic(scores), critic(scores)) == same
