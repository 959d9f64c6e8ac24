"""D, layer by layer."""

import pytest
import torch
from torch import nn

from endotransfer.models.critics.discriminator import Discriminator


def test_layers_are_the_papers() -> None:
    layers = list(Discriminator(2).layers)
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
