"""CDWS's network: three maps and their mixture, in every kind of normalisation and on any backbone."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.models.segmenters.cdws_segmenter import SHARES, CdwsSegmenter, build_cdws_segmenter, mixture
from tests.gradients import gradient

Tiny = Callable[..., ModelConfig]


def build(model: ModelConfig) -> CdwsSegmenter:
    torch.manual_seed(0)
    return build_cdws_segmenter(model)


def test_output_is_complete_and_the_mixture_is_refined_by_the_tag(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny())
    out = segmenter(images)
    assert out.logits.shape == (4, 2, 48, 48)
    assert out.tag_logits.shape == (4, 2)
    assert out.features.shape[1] == segmenter.feature_channels == segmenter.backbone.stages[-2]
    at_depths = out.aux["depths"].sigmoid()
    expected = sum(share * at_depths[:, depth] for depth, share in enumerate(SHARES))
    torch.testing.assert_close(out.aux["fused"].softmax(1)[:, 1], expected)
    in_image = out.tag_logits.softmax(1)[:, 1].view(-1, 1, 1)
    odds = in_image * expected / (1 - expected)
    torch.testing.assert_close(out.logits.softmax(1)[:, 1], odds / (1 + odds))
    torch.testing.assert_close(out.at((48, 48)), out.logits)


def test_depths_are_the_three_stages_before_the_last(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny()).eval()
    *_, deepest, last = segmenter.stages(images)
    out = segmenter(images)
    assert torch.equal(out.features, deepest)
    assert torch.equal(out.tag_logits, segmenter.tag_head(last))
    raw = segmenter.pixel_classifiers[2](deepest)
    at_size = torch.nn.functional.interpolate(raw, size=(48, 48), mode="bilinear", align_corners=False)
    torch.testing.assert_close(out.aux["depths"][:, 2:], at_size)


@pytest.mark.parametrize("logit", [0.0, 90.0, -90.0, 1e4])
def test_a_sure_mixture_keeps_its_gradient(logit: float) -> None:
    depths = torch.full((1, 3, 1, 1), logit, requires_grad=True)
    logits = mixture(depths, torch.tensor(SHARES).log()[:, None, None])
    assert (logits[0, 1] - logits[0, 0]).item() == pytest.approx(logit, rel=1e-6, abs=1e-5)
    slope = gradient((logits[0, 1] - logits[0, 0]).sum(), depths)
    assert slope.flatten().tolist() == pytest.approx(list(SHARES), abs=1e-3)


@pytest.mark.parametrize("size", [(32, 32), (33, 47)])
@pytest.mark.parametrize("name", ["test_resnet", "mobilenetv3_small_100", "convnext_atto"])
def test_any_backbone_and_size_works(tiny: Tiny, size: tuple[int, int], name: str) -> None:
    assert build(tiny(backbone=name)).eval()(torch.rand(1, 3, *size)).logits.shape == (1, 2, *size)


@pytest.mark.parametrize("norm", ["group", "per_domain", "batch"])
def test_every_parameter_gets_a_finite_gradient(tiny: Tiny, images: Tensor, norm: str) -> None:
    segmenter = build(tiny(norm=norm)).train()
    out = segmenter(images, domain="target")
    (out.logits.square().mean() + out.tag_logits.square().mean()).backward()
    for name, parameter in segmenter.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name


def test_half_precision_is_mixed_in_float32(tiny: Tiny, images: Tensor) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        out = build(tiny())(images)
    assert out.logits.dtype == out.aux["depths"].dtype == torch.float32


def test_the_shares_are_no_part_of_the_state(tiny: Tiny) -> None:
    segmenter = build(tiny()).double()
    assert not any("share" in name for name in segmenter.state_dict())
    assert segmenter.log_shares.dtype == torch.float64
    assert segmenter.log_shares.exp().sum().item() == pytest.approx(1)
