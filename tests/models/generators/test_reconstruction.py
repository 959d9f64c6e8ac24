"""LSD's decoder and critic: sizes, ranges, channels, images that stay apart."""

from typing import Any

import pytest
import torch
from torch import nn

from endotransfer.models.generators.reconstruction import ImageDecoder, ReconstructionCritic


@pytest.mark.parametrize(("cells", "size"), [((4, 4), (32, 32)), ((5, 6), (33, 47)), ((4, 5), (39, 47))])
def test_images_have_the_size_asked_for_and_proper_values(cells: tuple[int, int], size: tuple[int, int]) -> None:
    images = ImageDecoder(6, width=8)(10 * torch.randn(2, 6, *cells), size)
    assert images.shape == (2, 3, *size)
    assert 0 <= images.min() < images.max() <= 1


def test_the_decoders_channels_are_the_recipes() -> None:
    with torch.device("meta"):
        decoder = ImageDecoder(256)
    stages: list[Any] = list(decoder.layers[:4])
    entries = [stage[0][0] for stage in stages]
    channels = [entry.out_channels for entry in entries] + [decoder.layers[4].out_channels]
    assert [entries[0].in_channels, *channels] == [256, 512, 256, 128, 64, 3]
    assert all(isinstance(stage[0][1], nn.InstanceNorm2d) and len(stage) == 4 for stage in stages)


def test_images_of_a_batch_do_not_touch_each_other() -> None:
    torch.manual_seed(0)
    decoder, critic = ImageDecoder(6, width=8), ReconstructionCritic(4, 5, width=8)
    features = torch.randn(2, 6, 4, 4)
    images = decoder(features, (32, 32))
    torch.testing.assert_close(images[1:], decoder(features[1:], (32, 32)))
    for both, alone in zip(critic(images), critic(images[1:]), strict=True):
        torch.testing.assert_close(both[1:], alone)


@pytest.mark.parametrize(("size", "cells"), [((32, 32), (4, 4)), ((33, 47), (5, 6))])
def test_the_critic_scores_cells_of_an_eighth_with_two_heads(size: tuple[int, int], cells: tuple[int, int]) -> None:
    provenance, classes = ReconstructionCritic(4, 5, width=8)(torch.rand(2, 3, *size))
    assert provenance.shape == (2, 4, *cells)
    assert classes.shape == (2, 5, *cells)


def test_the_critic_sees_an_images_mean_colour() -> None:
    torch.manual_seed(0)
    critic = ReconstructionCritic(4, 2, width=8)
    dark, bright = (critic(torch.full((1, 3, 32, 32), level))[0] for level in (0.2, 0.8))
    assert (dark - bright).abs().min() > 0
