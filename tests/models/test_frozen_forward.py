"""A network that is held still keeps its statistics, whatever happens."""

import pytest
import torch
from torch import nn

from endotransfer.models.frozen_forward import held_still


@pytest.mark.parametrize("training", [True, False])
def test_nothing_moves_and_the_mode_comes_back(training: bool) -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).train(training)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with held_still(network):
        assert not network(torch.rand(2, 3, 4, 4)).requires_grad
    assert network.training is training and network[1].training is training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_the_mode_comes_back_after_an_error() -> None:
    network = nn.BatchNorm2d(4).train()
    with pytest.raises(RuntimeError), held_still(network):
        network(torch.rand(1, 3, 4, 4))
    assert network.training
