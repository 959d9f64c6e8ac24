"""Descriptors come from a network that stands still while the segmenter is trained."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.models.descriptor import FrozenDescriptor
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter


@pytest.fixture(params=["group", "batch", "per_domain"])
def segmenter(request: pytest.FixtureRequest, tiny: Callable[..., ModelConfig]) -> Segmenter:
    torch.manual_seed(0)
    return build_segmenter(tiny(norm=request.param), 2, True)


def test_a_descriptor_is_the_mean_of_the_last_feature_map(segmenter: Segmenter, images: Tensor) -> None:
    descriptor = FrozenDescriptor(segmenter)
    segmenter.eval()
    features = segmenter.backbone((images - segmenter.mean) / segmenter.std)[-1]
    assert descriptor(images).shape == (4, descriptor.channels)
    torch.testing.assert_close(descriptor(images), features.mean((2, 3)))


def test_neither_training_mode_nor_the_segmenters_updates_reach_it(segmenter: Segmenter, images: Tensor) -> None:
    descriptor = FrozenDescriptor(segmenter).train()
    before = descriptor(images)
    with torch.no_grad():
        for parameter in segmenter.parameters():
            parameter.add_(1.0)
    for _ in range(2):  # live statistics would drift
        torch.testing.assert_close(descriptor(images), before, rtol=0, atol=0)
    assert not any(parameter.requires_grad for parameter in descriptor.parameters())
    assert not descriptor(images).requires_grad


def test_under_bf16_descriptors_are_float32(segmenter: Segmenter, images: Tensor) -> None:
    descriptor = FrozenDescriptor(segmenter)
    with torch.autocast("cpu", torch.bfloat16):
        assert descriptor(images).dtype == torch.float32
