"""Segmenters on backbones that keep their own strides: shapes, gradients, state, and the networks beside the usual."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.engine.graphs import compute
from endotransfer.errors import ConfigError
from endotransfer.models.network_spec import rebuild, saved_network, spec_of
from endotransfer.models.pyramid import Pyramid
from endotransfer.models.segmenters.cdws_segmenter import build_cdws_segmenter
from endotransfer.models.segmenters.dfn_segmenter import build_dfn_segmenter
from endotransfer.models.segmenters.open_segmenter import build_open_segmenter
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter
from endotransfer.models.segmenters.two_level import TwoLevelSegmenter

Tiny = Callable[..., ModelConfig]
NAMES = ["test_vit", "test_convnext", "test_mambaout", "sam2_hiera_tiny"]


def two_level(model: ModelConfig) -> TwoLevelSegmenter:
    return TwoLevelSegmenter(build_segmenter(model, 2, True), model)


BUILDERS: dict[str, Callable[[ModelConfig], nn.Module]] = {
    "segmenter": lambda model: build_segmenter(model, 2, True),
    "two_level": two_level,
    "open": lambda model: build_open_segmenter(model, 2, True),
    "cdws": build_cdws_segmenter,
    "dfn": lambda model: build_dfn_segmenter(model, 8, 4, 2, True),
}


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_an_eighth_and_every_weight_learns(tiny: Tiny, name: str) -> None:
    segmenter = build_segmenter(tiny(backbone=name), 3, True)
    out = segmenter(torch.rand(2, 3, 64, 64))
    assert type(segmenter) is Segmenter and isinstance(segmenter.aspp, Pyramid)
    assert out.logits.shape == (2, 3, 8, 8) and out.features.shape == (2, 16, 8, 8)
    assert out.tag_logits is not None and out.tag_logits.shape == (2, 2)
    (out.logits.square().sum() + out.tag_logits.square().sum()).backward()
    assert [path for path, parameter in segmenter.named_parameters() if parameter.grad is None] == []
    assert all(torch.isfinite(parameter.grad).all() for parameter in segmenter.parameters())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind"), [*(("test_convnext", kind) for kind in BUILDERS), ("test_vit", "two_level"), ("test_vit", "cdws")]
)
@torch.no_grad()
def test_a_network_is_rebuilt_from_its_spec_to_the_last_bit(tiny: Tiny, images: Tensor, name: str, kind: str) -> None:
    torch.manual_seed(0)
    network = BUILDERS[kind](tiny(backbone=name)).eval()
    again = rebuild(saved_network(spec_of(network, "a test"))).eval()
    again.load_state_dict(network.state_dict())
    first, second = network(images), again(images)
    assert isinstance(first, SegOutput) and torch.equal(first.logits, second.logits)
    assert first.tag_logits is not None and torch.equal(first.tag_logits, second.tag_logits)


def test_dfn_refuses_maps_that_are_all_alike(tiny: Tiny) -> None:
    with pytest.raises(ConfigError, match=r"method dfn .*plain ViT are alike; choose .*resnet50"):
        BUILDERS["dfn"](tiny(backbone="test_vit"))


@pytest.mark.parametrize("kind", ["cdws", "dfn"])
def test_too_few_stages_are_refused(tiny: Tiny, kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"method {kind} looks at 4 maps .* has 3; choose"):
        BUILDERS[kind](tiny(backbone="shvit_s1"))


def test_the_second_level_does_not_see_the_last_map(tiny: Tiny, images: Tensor) -> None:
    network = two_level(tiny(backbone="test_convnext"))
    out = network(images)
    assert out.aux["logits"].shape == out.logits.shape
    out.aux["logits"].sum().backward()
    learnt = [path for path, one in network.segmenter.backbone.named_parameters() if one.grad is not None]
    assert any("stages_2" in path for path in learnt) and not any("stages_3" in path for path in learnt)


def test_a_resnet_may_be_a_pyramid_too(tiny: Tiny, images: Tensor) -> None:
    segmenter = build_segmenter(tiny(head="pyramid", multi_grid="auto"), 2, True)
    assert segmenter.backbone.strides[-1] == 32 and segmenter(images).logits.shape == (4, 2, 8, 8)  # 48 fits as 64


def test_a_transformer_under_deeplab_is_refused_with_the_way_out(tiny: Tiny) -> None:
    with pytest.raises(ConfigError, match=r"'test_vit' cannot be built with output stride 8.*leave model.head out"):
        build_segmenter(tiny(backbone="test_vit", head="deeplab_v3"), 2, True)
    with pytest.raises(ConfigError, match=r"multi_grid is for ResNets only"):
        build_segmenter(tiny(backbone="test_vit", multi_grid=(1, 2)), 2, True)


@pytest.mark.parametrize("name", ["mobilenetv3_small_050", "test_efficientnet", "regnetx_002"])
def test_a_dilated_backbone_that_is_no_resnet_needs_no_word_of_multi_grid(name: str) -> None:
    model = ModelConfig(backbone=name, pretrained=False, norm="group", aspp_channels=8)
    assert build_segmenter(model, 2, True)(torch.rand(1, 3, 48, 48)).logits.shape == (1, 2, 6, 6)


def test_what_a_graph_would_record_is_what_the_segmenter_returns(tiny: Tiny, images: Tensor) -> None:
    segmenter = build_segmenter(tiny(backbone="test_vit"), 2, True)
    logits, features, tags = compute(segmenter, images)
    out: Any = segmenter(images)
    assert torch.equal(logits, out.logits) and torch.equal(features, out.features) and torch.equal(tags, out.tag_logits)
