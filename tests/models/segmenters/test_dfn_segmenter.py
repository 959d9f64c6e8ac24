"""DFN's network: four levels at plain strides, attention by channel, borders at a quarter of the image."""

import copy
from collections.abc import Callable
from typing import cast

import pytest
import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.models.segmenters.dfn_blocks import ChannelAttention, Head, RefinementBlock
from endotransfer.models.segmenters.dfn_segmenter import DfnSegmenter, build_dfn_segmenter

Tiny = Callable[..., ModelConfig]


def build(model: ModelConfig, classes: int = 2, tags: bool = True) -> DfnSegmenter:
    torch.manual_seed(0)
    return build_dfn_segmenter(model, 16, 5, classes, tags)


@pytest.mark.parametrize(("classes", "tags"), [(2, True), (5, False)])
def test_output_is_complete(tiny: Tiny, classes: int, tags: bool) -> None:
    segmenter = build(tiny(), classes, tags)
    out = segmenter(torch.rand(2, 3, 64, 96))
    assert out.logits.shape == (2, classes, 16, 24)
    assert out.features.shape == (2, segmenter.feature_channels, 16, 24)
    assert (out.tag_logits is None) == (not tags)
    levels = [tuple(out.aux[f"level_{index}"].shape[1:]) for index in range(3)]
    assert levels == [(classes, 2, 3), (classes, 4, 6), (classes, 8, 12)]
    assert out.aux["borders"].shape == (2, 4, 16, 24)


def test_the_shallowest_level_predicts_and_is_refined_by_the_tag(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny()).eval()
    out = segmenter(images)
    raw = segmenter.smooth.heads[-1](out.features)
    assert segmenter.refinement is not None
    torch.testing.assert_close(out.logits, segmenter.refinement(raw, out.tag_logits))
    assert not torch.equal(out.logits[:, 1], raw[:, 1])


def test_the_whole_image_guides_every_level(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny()).eval()
    with torch.no_grad():
        stages = segmenter.stages(images)[-4:]
        before, _ = segmenter.smooth(stages)
        cast(Tensor, segmenter.smooth.whole_image[2].bias).add_(1)
        after, _ = segmenter.smooth(stages)
    assert not any(torch.allclose(one, other) for one, other in zip(before, after, strict=True))


def test_a_border_level_sees_no_deeper_stage(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny()).eval()
    with torch.no_grad():
        stages = segmenter.stages(images)[-4:]
        before = segmenter.border(stages)
        after = segmenter.border([*stages[:3], stages[3] + 1])
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


def test_attention_weighs_channels_of_the_shallower_map_and_adds_the_deeper() -> None:
    torch.manual_seed(0)
    block = ChannelAttention(3)
    low, high = torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 4)
    weights = block.weights(low, high)
    assert weights.shape == (2, 3) and ((weights > 0) & (weights < 1)).all()
    torch.testing.assert_close(block(low, high)[1, 2], low[1, 2] * weights[1, 2] + high[1, 2])
    flipped = block.weights(low.flip(3), high.flip(2))  # only means over the map count
    torch.testing.assert_close(flipped, weights)


def test_a_refinement_block_is_a_residual_around_its_reduction() -> None:
    block = RefinementBlock(4, 6, "group")
    features = torch.randn(1, 4, 5, 5)
    for parameter in block.residual[-1].parameters():
        torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(block(features), block.reduce(features).relu())
    assert (Head(4, 2, "group")[0](features) < 0).any()  # no ReLU before a head's last convolution


def test_a_single_pixel_is_normalised_over_channels() -> None:
    """At 32 pixels a side the deepest map is one pixel: with a group to each channel nothing would be left of it."""
    block = RefinementBlock(4, 16, "frozen")
    pixels = torch.randn(2, 4, 1, 1)
    one, other = block.residual[1](block.residual[0](block.reduce(pixels)))
    assert not torch.allclose(one, other)


@pytest.mark.parametrize("size", [(32, 32), (33, 47)])
@pytest.mark.parametrize("name", ["test_resnet", "mobilenetv3_small_100", "convnext_atto"])
def test_any_backbone_and_size_works(tiny: Tiny, size: tuple[int, int], name: str) -> None:
    out = build(tiny(backbone=name)).eval()(torch.rand(1, 3, *size))
    assert out.at(size).shape == (1, 2, *size)
    assert out.logits.isfinite().all()


@pytest.mark.parametrize("norm", ["group", "per_domain", "batch"])
def test_every_parameter_gets_a_finite_gradient(tiny: Tiny, images: Tensor, norm: str) -> None:
    segmenter = build(tiny(norm=norm)).train()
    out = segmenter(images, domain="target")
    sum(part.square().mean() for part in (out.logits, out.tag_logits, *out.aux.values())).backward()
    for name, parameter in segmenter.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name


def test_domains_have_statistics_of_their_own_in_all_parts(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(norm="per_domain")).train()
    before = copy.deepcopy(segmenter.state_dict())
    segmenter(images, domain="target")
    moved = {name for name, value in segmenter.state_dict().items() if not torch.equal(value, before[name])}
    assert all(".statistics.target." in name for name in moved)
    assert {name.partition(".")[0] for name in moved} == {"backbone", "smooth", "border"}


def test_dilations_and_multi_grid_are_left_out_and_the_stride_stays_where_weights_want_it(tiny: Tiny) -> None:
    usual = build(tiny(backbone="resnet26", multi_grid=(1, 2, 4)))
    moved = build(tiny(backbone="resnet26", multi_grid=(1, 2, 4), stride_on="conv1"))
    for segmenter, strided in ((usual, "conv2"), (moved, "conv1")):
        net = segmenter.backbone.net
        assert all(m.dilation == (1, 1) for m in net.modules() if isinstance(m, torch.nn.Conv2d))
        for layer in (net.layer2, net.layer3, net.layer4):
            strides = {name: getattr(layer[0], name).stride for name in ("conv1", "conv2")}
            assert strides == {"conv1": (1, 1), "conv2": (1, 1)} | {strided: (2, 2)}
    assert moved.notes and not usual.notes
    usual.load_state_dict(moved.state_dict())  # a checkpoint carries the placement
    images = torch.rand(1, 3, 32, 32)
    assert torch.equal(usual.eval()(images).logits, moved.eval()(images).logits)
