"""The whole network: shapes at any size, with and without tags, in every kind of normalisation."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.errors import ConfigError
from endotransfer.models.backbones.normalisation import DOMAINS
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter

Tiny = Callable[..., ModelConfig]
NORMS = ["group", "per_domain", "batch"]


def build(model: ModelConfig, classes: int = 2, tags: bool = True) -> Segmenter:
    torch.manual_seed(0)
    return build_segmenter(model, classes, tags)


@pytest.mark.parametrize(("classes", "tags"), [(2, True), (5, False), (19, False)])
def test_output_is_complete(tiny: Tiny, images: Tensor, classes: int, tags: bool) -> None:
    out = build(tiny(), classes, tags)(images)
    assert out.logits.shape == (4, classes, 6, 6)
    assert out.features.shape == (4, 16, 6, 6)
    assert (out.tag_logits.shape if out.tag_logits is not None else None) == ((4, 2) if tags else None)
    assert out.aux == {}


def test_features_are_what_the_pixel_classifier_sees(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(), tags=False)
    out = segmenter(images)
    torch.testing.assert_close(segmenter.pixel_classifier(out.features), out.logits)


def test_logits_are_those_of_the_pixel_classifier_refined_by_the_tag(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny())
    out = segmenter(images)
    raw = segmenter.pixel_classifier(out.features)
    assert segmenter.refinement is not None and out.tag_logits is not None
    torch.testing.assert_close(segmenter.refinement(raw, out.tag_logits), out.logits, rtol=0, atol=1e-6)
    torch.testing.assert_close(raw[:, :1], out.logits[:, :1], rtol=0, atol=1e-6)  # normal tissue is everywhere


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (50, 41), (64, 32)])
@pytest.mark.parametrize("name", ["test_resnet", "mobilenetv3_small_100"])
def test_any_size_from_32_up_works(tiny: Tiny, size: tuple[int, int], name: str) -> None:
    out = build(tiny(backbone=name)).eval()(torch.rand(1, 3, *size))
    assert [out.logits.shape[2], out.logits.shape[3]] == [-(-side // 8) for side in size]
    assert out.at(size).shape == (1, 2, *size)


def test_images_are_normalised_inside(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(backbone="resnet18")).eval()
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    features = segmenter.backbone((images - mean.view(3, 1, 1)) / std.view(3, 1, 1))[-1]
    torch.testing.assert_close(segmenter(images).features, segmenter.aspp(features))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("batch", [1, 4])
def test_every_parameter_gets_a_finite_gradient(tiny: Tiny, images: Tensor, norm: str, batch: int) -> None:
    segmenter = build(tiny(norm=norm)).train()
    out = segmenter(images[:batch], domain="target")
    (out.logits.square().mean() + out.tag_logits.square().mean()).backward()
    for name, parameter in segmenter.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name


def test_group_norm_makes_an_image_independent_of_its_neighbours(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(norm="group")).train()
    torch.testing.assert_close(segmenter(images).logits[:1], segmenter(images[:1]).logits, rtol=1e-4, atol=1e-5)


def test_domains_have_statistics_of_their_own_in_backbone_and_heads(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(norm="per_domain")).train()
    before = copy.deepcopy(segmenter.state_dict())
    segmenter(images, domain="target")
    moved = {name for name, value in segmenter.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and all(".statistics.target." in name for name in moved)
    assert {name.split(".")[0] for name in moved} == {"backbone", "aspp"}
    segmenter.eval()
    source, target = (segmenter(images, domain=domain).logits for domain in DOMAINS)
    assert not torch.allclose(source, target)


def test_an_unknown_domain_is_a_mistake_in_every_kind(tiny: Tiny, images: Tensor) -> None:
    with pytest.raises(ValueError, match="must be one of"):
        build(tiny())(images, domain="tagret")


@pytest.mark.parametrize("norm", NORMS)
def test_a_state_dict_is_all_there_is(tiny: Tiny, images: Tensor, norm: str) -> None:
    first = build(tiny(norm=norm)).train()
    first(images, domain="target")
    torch.manual_seed(1)
    second = first.spec.build()
    second.load_state_dict(first.state_dict())
    for domain in DOMAINS:
        assert torch.equal(first.eval()(images, domain).logits, second.eval()(images, domain).logits)


@pytest.mark.parametrize("norm", NORMS)
def test_bfloat16_and_channels_last_are_close_to_plain(tiny: Tiny, images: Tensor, norm: str) -> None:
    segmenter = build(tiny(norm=norm)).eval()
    plain = segmenter(images).logits
    segmenter.to(memory_format=torch.channels_last)
    last = segmenter(images.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(last.logits, plain, rtol=1e-4, atol=1e-4)
    assert last.features.is_contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = segmenter.train()(images)
    assert half.logits.dtype == torch.bfloat16 and torch.isfinite(half.logits).all()


def test_double_precision_is_possible(tiny: Tiny, images: Tensor) -> None:
    assert build(tiny()).double()(images.double()).logits.dtype == torch.float64


def test_frozen_without_weights_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ConfigError, match="`norm: group`"):
        build(tiny(norm="frozen"))


def test_notes_are_handed_on(tiny: Tiny) -> None:
    segmenter = build(tiny(backbone="resnet26", stride_on="conv1"))
    assert segmenter.notes == ["backbone: stride on conv1, as model.stride_on says"]
