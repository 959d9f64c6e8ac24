"""A short-sighted look at an image: what a description is made of, and that it is never trained."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.errors import ConfigError
from endotransfer.models.local_features import LocalFeatures, LocalScorer, within_image
from endotransfer.models.segmenters.segmenter import build_segmenter

MakeModel = Callable[..., ModelConfig]


@pytest.fixture
def view(tiny: MakeModel, taught: Path) -> LocalFeatures:
    return LocalFeatures(tiny(weights=taught))


def literal_smooth(features: Tensor) -> Tensor:
    """The mean of every 3 x 3 neighbourhood (nothing lies beyond the border), at length one over the channels."""
    batch, _, height, width = features.shape
    smooth = torch.zeros_like(features)
    for b in range(batch):
        for y in range(height):
            for x in range(width):
                near = features[b, :, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2]
                total = near.sum((1, 2)) / 9
                smooth[b, :, y, x] = total / total.norm()
    return smooth


def literal_within(features: Tensor) -> Tensor:
    out = torch.zeros_like(features)
    for b, image in enumerate(features):
        channels = [channel.flatten().tolist() for channel in image]
        means = [sum(values) / len(values) for values in channels]
        deviations = [
            math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
            for values, mean in zip(channels, means, strict=True)
        ]
        floor = 0.1 * sum(deviations) / len(deviations) + 1e-4
        for c, (mean, deviation) in enumerate(zip(means, deviations, strict=True)):
            out[b, c] = (image[c] - mean) / (deviation + floor)
    return out


def test_a_description_is_the_literal_one_at_an_eighth(view: LocalFeatures, images: Tensor) -> None:
    described = view(images)
    features = view.stages(images)[-1]
    channels = features.shape[1]
    assert tuple(described.shape) == (4, view.channels, 6, 6) and view.channels == 2 * channels
    smooth = literal_smooth(features)
    torch.testing.assert_close(described[:, :channels], math.sqrt(channels) * smooth, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(described[:, channels:], literal_within(smooth), rtol=1e-3, atol=1e-3)


@given(st.integers(0, 2**31), st.integers(1, 4))
def test_within_image_equals_the_literal_loop(seed: int, channels: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(2, channels, 3, 4, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(within_image(features), literal_within(features))


def test_a_channel_that_hardly_varies_is_not_blown_up() -> None:
    features = torch.stack([torch.randn(8, 8), 1e-4 * torch.randn(8, 8), torch.ones(8, 8)]).unsqueeze(0)
    loud, faint, silent = within_image(features)[0]
    assert loud.std() > 0.8 and faint.std() < 0.01 and (silent == 0).all()
    assert (within_image(torch.ones(1, 3, 4, 4)) == 0).all()


def test_it_is_short_sighted_but_for_what_stands_out_of_the_image(view: LocalFeatures) -> None:
    before = torch.rand(1, 3, 128, 128, generator=torch.Generator().manual_seed(0))
    after = before.clone()
    after[..., -16:, -16:] = 1 - after[..., -16:, -16:]
    half = view.channels // 2
    first, second = view(before)[..., 0, 0], view(after)[..., 0, 0]
    assert torch.equal(first[:, :half], second[:, :half])
    assert not torch.equal(first[:, half:], second[:, half:])


def test_it_is_never_trained(view: LocalFeatures, images: Tensor) -> None:
    state = {name: value.clone() for name, value in view.state_dict().items()}
    assert view.train() is view and not any(module.training for module in view.modules())
    assert not any(parameter.requires_grad for parameter in view.parameters())
    assert not view(images.requires_grad_()).requires_grad
    assert all(torch.equal(value, state[name]) for name, value in view.state_dict().items())


def test_an_image_is_described_alike_in_any_company(view: LocalFeatures, images: Tensor) -> None:
    torch.testing.assert_close(view(images)[1:2], view(images[1:2]), rtol=1e-4, atol=1e-4)


def test_descriptions_are_single_precision_in_autocast_too(view: LocalFeatures, images: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        described = view(images)
    assert described.dtype == torch.float32
    torch.testing.assert_close(
        described[:, : view.channels // 2], view(images)[:, : view.channels // 2], rtol=0, atol=0.2
    )


def test_a_head_starts_undecided_and_weighs_linearly() -> None:
    head, descriptions = LocalScorer(3), torch.randn(2, 3, 4, 5)
    assert tuple(head(descriptions).shape) == (2, 4, 5) and (head(descriptions) == 0).all()
    head.linear.weight.data.copy_(torch.tensor([1.0, -2.0, 0.5]).view(1, 3, 1, 1))
    head.linear.bias.data.fill_(0.25)  # type: ignore[union-attr]
    expected = descriptions[:, 0] - 2 * descriptions[:, 1] + 0.5 * descriptions[:, 2] + 0.25
    torch.testing.assert_close(head(descriptions), expected)


@pytest.mark.parametrize("name", ["test_vit", "test_convnext", "test_mambaout"])
@pytest.mark.parametrize("size", [(64, 64), (50, 70)])
def test_on_a_pyramid_places_are_those_of_the_segmenter(tiny: MakeModel, name: str, size: tuple[int, int]) -> None:
    images, model = torch.rand(2, 3, *size), tiny(backbone=name)
    view, segmenter = LocalFeatures(model), build_segmenter(model, 2, True)
    assert view(images).shape == (2, view.channels, *segmenter(images).logits.shape[-2:])


@pytest.mark.parametrize(("name", "stride"), [("test_resnet", 4), ("test_resnet", 16), ("test_convnext", 4)])
def test_another_map_may_be_chosen_and_is_resized(tiny: MakeModel, name: str, stride: int) -> None:
    view = LocalFeatures(tiny(backbone=name, local_stride=stride))
    assert view.backbone.strides[-1] == stride
    assert view(torch.rand(1, 3, 72, 64)).shape[-2:] == ((9, 8) if name == "test_resnet" else (8, 8))


def test_a_stride_that_there_is_not_is_refused_with_those_that_are(tiny: MakeModel) -> None:
    with pytest.raises(ConfigError, match=r"'test_resnet' has no map of 1/6 of the image; write one of 2, 4, 8"):
        LocalFeatures(tiny(local_stride=6))
