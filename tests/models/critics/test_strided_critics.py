"""Critics of whole maps and images, layer by layer."""

from typing import Any

import pytest
import torch
from torch import nn

from endotransfer.models.critics.strided_critics import Discriminator, PatchCritic, SoftmaxCritic


def test_layers_are_the_papers() -> None:
    layers: list[Any] = list(Discriminator(2).layers)
    convolutions = layers[::2]
    assert [conv.out_channels for conv in convolutions] == [16, 32, 64, 64, 1]
    assert [conv.in_channels for conv in convolutions] == [2, 16, 32, 64, 64]
    assert all((c.kernel_size, c.stride, c.padding) == ((3, 3), (2, 2), (1, 1)) for c in convolutions)
    assert [type(layer) for layer in layers[1::2]] == [nn.LeakyReLU] * 4
    assert all(layer.negative_slope == 0.2 for layer in layers[1::2])


@pytest.mark.parametrize(
    ("size", "expected"), [((32, 32), (1, 1)), ((64, 96), (2, 3)), ((33, 47), (2, 2)), ((1, 1), (1, 1))]
)
def test_any_size_gives_a_map_of_logits(size: tuple[int, int], expected: tuple[int, int]) -> None:
    out = Discriminator(5)(torch.rand(2, 5, *size).softmax(1))
    assert tuple(out.shape) == (2, 1, *expected)


def test_a_logit_sees_63_pixels_a_side() -> None:
    probabilities = torch.rand(1, 2, 256, 256, requires_grad=True)
    (gradient,) = torch.autograd.grad(Discriminator(2)(probabilities)[0, 0, 4, 4], probabilities)
    touched = gradient.abs().sum((0, 1)).nonzero()
    assert (touched.amax(0) - touched.amin(0) + 1).tolist() == [63, 63]


def test_ltas_critic_has_the_layers_of_the_recipe() -> None:
    layers: list[Any] = list(SoftmaxCritic(5).layers)
    convolutions = layers[::2]
    assert [conv.out_channels for conv in convolutions] == [64, 128, 256, 512, 1]
    assert [conv.in_channels for conv in convolutions] == [5, 64, 128, 256, 512]
    assert all((c.kernel_size, c.stride, c.padding) == ((4, 4), (2, 2), (1, 1)) for c in convolutions)
    assert [type(layer) for layer in layers[1::2]] == [nn.LeakyReLU] * 4
    assert all(layer.negative_slope == 0.2 for layer in layers[1::2])


@pytest.mark.parametrize(("size", "expected"), [((32, 32), (1, 1)), ((64, 96), (2, 3)), ((33, 70), (1, 2))])
def test_every_layer_of_ltas_critic_halves_the_map(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert tuple(SoftmaxCritic(2)(torch.rand(3, 2, *size)).shape) == (3, 1, *expected)


@pytest.mark.parametrize(("size", "cells"), [((32, 32), (2, 2)), ((64, 96), (6, 10)), ((33, 47), (2, 3))])
def test_cyclegans_critic_scores_patches(size: tuple[int, int], cells: tuple[int, int]) -> None:
    assert tuple(PatchCritic(4)(torch.rand(2, 3, *size)).shape) == (2, 1, *cells)


def test_cyclegans_critic_sees_mean_colour() -> None:
    """With instance norm behind its convolutions it could not."""
    torch.manual_seed(0)
    critic = PatchCritic(8)
    reddish, greenish = (
        torch.tensor(c).view(1, 3, 1, 1).expand(1, 3, 64, 64) for c in ([0.8, 0.3, 0.3], [0.3, 0.8, 0.3])
    )
    middle = (..., slice(2, -2), slice(2, -2))  # where no border reaches
    assert (critic(reddish) - critic(greenish))[middle].abs().max() > 1e-3
