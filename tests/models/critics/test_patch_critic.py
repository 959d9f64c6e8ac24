"""LtA's critic, layer by layer."""

import pytest
import torch
from torch import nn

from endotransfer.models.critics.patch_critic import SoftmaxCritic


def test_layers_are_those_of_the_recipe() -> None:
    layers = list(SoftmaxCritic(5).layers)
    convolutions = layers[::2]
    assert [conv.out_channels for conv in convolutions] == [64, 128, 256, 512, 1]
    assert [conv.in_channels for conv in convolutions] == [5, 64, 128, 256, 512]
    assert all((c.kernel_size, c.stride, c.padding) == ((4, 4), (2, 2), (1, 1)) for c in convolutions)
    assert [type(layer) for layer in layers[1::2]] == [nn.LeakyReLU] * 4
    assert all(layer.negative_slope == 0.2 for layer in layers[1::2])


@pytest.mark.parametrize(("size", "expected"), [((32, 32), (1, 1)), ((64, 96), (2, 3)), ((33, 70), (1, 2))])
def test_every_layer_halves_the_map(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert tuple(SoftmaxCritic(2)(torch.rand(3, 2, *size)).shape) == (3, 1, *expected)
