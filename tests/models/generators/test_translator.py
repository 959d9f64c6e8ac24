"""The image translator starts as a copier and stays an image."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from endotransfer.models.critics.strided_critics import PatchCritic
from endotransfer.models.generators.translator import DARKEST, Translator
from tests.gradients import gradient


@pytest.fixture
def translator() -> Translator:
    torch.manual_seed(0)
    return Translator(width=4, blocks=2)


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (64, 34)])
def test_an_image_of_any_size_comes_back_nearly_as_it_was(translator: Translator, size: tuple[int, int]) -> None:
    images = torch.rand(2, 3, *size)
    shown = translator(images)
    assert shown.shape == images.shape
    assert (shown - images).abs().max() < 0.03
    assert not torch.equal(shown, images)


def test_whatever_the_weights_the_result_is_an_image(translator: Translator) -> None:
    nn.init.normal_(translator.last.weight, std=1.0)
    images = torch.cat([torch.zeros(1, 3, 32, 32), torch.ones(1, 3, 32, 32), torch.rand(1, 3, 32, 32)])
    shown = translator(images)
    assert shown.isfinite().all() and shown.min() >= 0 and shown.max() <= 1


def test_black_and_white_pixels_can_be_learned_from(translator: Translator) -> None:
    images = torch.tensor([0.0, 1.0]).view(2, 1, 1, 1).expand(2, 3, 32, 32) + torch.zeros(2, 3, 32, 32)
    shown = translator(images)
    assert (shown - images).abs().max() < 2 * DARKEST
    assert translator.last.bias is not None
    assert gradient(shown.sum(), translator.last.bias).abs().min() > 0
    assert all(p.grad is not None and p.grad.isfinite().all() for p in translator.parameters())


@pytest.mark.parametrize("network", [Translator(4, 1), PatchCritic(4)])
def test_images_of_a_batch_do_not_mix(network: nn.Module, images: Tensor) -> None:
    alone = torch.cat([network(image[None]) for image in images])
    torch.testing.assert_close(network(images), alone)


def test_bf16_gives_full_precision_images(translator: Translator, images: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        shown = translator(images)
    assert shown.dtype == torch.float32
    assert (shown - images).abs().max() < 0.05


def test_the_translator_has_as_many_blocks_and_channels_as_asked() -> None:
    translator = Translator(width=8, blocks=3)
    assert len(translator.blocks) == 3
    up: Any = translator.back_to_half[0]
    assert up[0].in_channels == 32
    assert not any(isinstance(module, nn.BatchNorm2d) for module in translator.modules())
