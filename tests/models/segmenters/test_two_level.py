"""The second level stands beside a segmenter and changes nothing in it."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.models.segmenters.segmenter import build_segmenter
from endotransfer.models.segmenters.two_level import TwoLevelSegmenter

Tiny = Callable[..., ModelConfig]


def build(model: ModelConfig, classes: int = 2, tags: bool = True) -> TwoLevelSegmenter:
    torch.manual_seed(0)
    return TwoLevelSegmenter(build_segmenter(model, classes, tags), model)


@pytest.mark.parametrize(("classes", "tags"), [(2, True), (5, False)])
@pytest.mark.parametrize("norm", ["group", "per_domain", "batch"])
def test_the_first_level_is_the_segmenters_own(tiny: Tiny, images: Tensor, norm: str, classes: int, tags: bool) -> None:
    both = build(tiny(norm=norm), classes, tags)
    both.train()(images, domain="target")
    both.eval()
    for domain in ("source", "target"):
        out, expected = both(images, domain), both.segmenter(images, domain)
        assert torch.equal(out.logits, expected.logits) and torch.equal(out.features, expected.features)
        assert (out.tag_logits is None) == (not tags)
        if tags:
            assert torch.equal(out.tag_logits, expected.tag_logits)
        assert out.aux["logits"].shape == (4, classes, 6, 6)
        assert not torch.allclose(out.aux["logits"], out.logits)


def test_the_second_level_sees_the_stage_before_the_last(tiny: Tiny, images: Tensor) -> None:
    both = build(tiny()).eval()
    stages = both.segmenter.backbone((images - both.segmenter.mean) / both.segmenter.std)
    expected = both.aux_classifier(both.aux_aspp(stages[-2]))
    torch.testing.assert_close(both(images).aux["logits"], expected)


def test_domains_have_statistics_of_their_own_at_both_levels_also_in_a_copy(tiny: Tiny, images: Tensor) -> None:
    first = build(tiny(norm="per_domain")).train()
    first(images, domain="source")
    both = copy.deepcopy(first)
    before = copy.deepcopy(both.state_dict())
    both(images, domain="target")
    moved = {name for name, value in both.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and all(".statistics.target." in name for name in moved)
    assert any(name.startswith("aux_aspp.") for name in moved)
    assert any(name.startswith("segmenter.backbone.") for name in moved)


def test_width_and_notes_are_handed_on(tiny: Tiny) -> None:
    both = build(tiny(backbone="resnet26", stride_on="conv1"))
    assert both.feature_channels == 16
    assert both.notes == both.segmenter.notes != []


@pytest.mark.parametrize("size", [(32, 32), (33, 47)])
@pytest.mark.parametrize("name", ["resnet18", "mobilenetv3_small_100"])
def test_any_backbone_and_size_works(tiny: Tiny, size: tuple[int, int], name: str) -> None:
    out = build(tiny(backbone=name)).eval()(torch.rand(1, 3, *size))
    assert out.aux["logits"].shape == out.logits.shape
