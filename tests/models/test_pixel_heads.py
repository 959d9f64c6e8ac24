"""DeepLab-v2's classifiers, against their literal sum, and the network around them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import conv2d

from endotransfer.config import ModelConfig
from endotransfer.models.pixel_heads import DilatedClassifiers, NoBody, pixel_head
from endotransfer.models.segmenters.segmenter import build_segmenter
from endotransfer.models.segmenters.two_level import TwoLevelSegmenter

Tiny = Callable[..., ModelConfig]


def test_the_classifiers_are_summed_each_at_its_rate() -> None:
    head, features = DilatedClassifiers(4, 3, (1, 2, 5)), torch.randn(2, 4, 9, 11)
    views: list[Any] = list(head.views)
    parts = [
        conv2d(features, view.weight, view.bias, padding=rate, dilation=rate)
        for view, rate in zip(views, (1, 2, 5), strict=True)
    ]
    expected = parts[0] + parts[1] + parts[2]
    torch.testing.assert_close(head(features), expected)
    assert head(features).shape == (2, 3, 9, 11)


def test_version_2_has_its_own_rates_and_no_multi_grid_unless_they_are_written() -> None:
    default, written = ModelConfig(head="deeplab_v2"), ModelConfig(head="deeplab_v2", aspp_rates=(6,), multi_grid=(1,))
    assert (default.aspp_rates, default.multi_grid) == ((6, 12, 18, 24), None)
    assert (written.aspp_rates, written.multi_grid) == ((6,), (1,))
    assert ModelConfig().aspp_rates == (12, 24, 36)
    body, classifier = pixel_head(default, (4, 8), (8, 8), 5)
    assert isinstance(body, NoBody)
    assert isinstance(classifier, DilatedClassifiers)
    assert [view.dilation for view in classifier.views] == [(6, 6), (12, 12), (18, 18), (24, 24)]


@pytest.mark.parametrize("tags", [True, False])
def test_the_classifier_sees_the_backbones_own_features(tiny: Tiny, images: Tensor, tags: bool) -> None:
    segmenter = build_segmenter(tiny(head="deeplab_v2"), 5, tags).eval()
    out = segmenter(images)
    assert out.logits.shape == (4, 5, 6, 6)
    assert (out.tag_logits is not None) == tags
    assert out.features.shape[1] == segmenter.feature_channels == segmenter.backbone.channels
    raw = segmenter.pixel_classifier(out.features)
    unrefined = slice(1) if tags else slice(None)  # the tag acts on lesion classes alone
    torch.testing.assert_close(raw[:, unrefined], out.logits[:, unrefined], rtol=0, atol=1e-6)
    assert torch.equal(out.features, segmenter.stages(images)[-1])


def test_a_second_level_has_the_same_form(tiny: Tiny, images: Tensor) -> None:
    model = tiny(head="deeplab_v2")
    both = TwoLevelSegmenter(build_segmenter(model, 5, tags=False), model).eval()
    out = both(images)
    assert out.aux["logits"].shape == out.logits.shape == (4, 5, 6, 6)
    assert isinstance(both.aux_classifier, DilatedClassifiers)
    torch.testing.assert_close(out.aux["logits"], both.aux_classifier(both.segmenter.stages(images)[-2]))
