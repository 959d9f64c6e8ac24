"""CGAN's generator: shapes, a start without adaptation, noise that counts, images that stay apart."""

import pytest
import torch
from torch import Tensor, nn

from endotransfer.models.generators.feature_generator import FeatureGenerator
from endotransfer.models.generators.residual import ResidualBlock
from tests.gradients import gradient


@pytest.fixture
def features() -> Tensor:
    return torch.randn(3, 6, 8, 9, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def noise() -> Tensor:
    return torch.rand(3, 1, 8, 9, generator=torch.Generator().manual_seed(1))


def awake() -> FeatureGenerator:
    torch.manual_seed(0)
    generator = FeatureGenerator(6, width=8, blocks=2)
    nn.init.normal_(generator.leave.weight)
    return generator


def test_nothing_is_adapted_before_training(features: Tensor, noise: Tensor) -> None:
    generator = FeatureGenerator(6, width=8, blocks=2)
    assert torch.equal(generator(features, noise), features)
    loss = generator(features, noise).square().sum()
    assert gradient(loss, generator.leave.weight).abs().sum() > 0  # and yet it can begin to learn


def test_the_output_is_the_features_and_a_residual_that_depends_on_both(features: Tensor, noise: Tensor) -> None:
    generator = awake()
    adapted = generator(features, noise)
    assert adapted.shape == features.shape
    residual = generator.leave(generator.body(generator.enter(torch.cat([features, noise], 1))))
    torch.testing.assert_close(adapted - features, residual)
    assert not torch.allclose(adapted, generator(features, -noise))


def test_images_of_a_batch_do_not_touch_each_other(features: Tensor, noise: Tensor) -> None:
    generator, features, noise = awake().double(), features.double(), noise.double()
    alone = torch.cat([generator(features[i : i + 1], noise[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(generator(features, noise), alone)


def test_layers_are_those_of_the_recipe() -> None:
    generator = FeatureGenerator(64)
    assert [type(block) for block in generator.body] == [ResidualBlock] * 8
    shapes = [tuple(m.weight.shape) for m in generator.modules() if isinstance(m, nn.Conv2d)]
    assert shapes == [(64, 65, 3, 3)] + 16 * [(64, 64, 3, 3)] + [(64, 64, 3, 3)]


def test_a_residual_block_adds_to_its_input(features: Tensor) -> None:
    block = ResidualBlock(6)
    torch.testing.assert_close(block(features), features + block.layers(features))
    for layer in block.layers[2].parameters():
        nn.init.zeros_(layer)
    assert torch.equal(block(features), features)
