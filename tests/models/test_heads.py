"""S1 and ASPP, against what their equations say."""

from typing import Any

import pytest
import torch
from torch import nn

from endotransfer.models.heads import ASPP, TagHead
from tests.gradients import gradient


def test_tag_head_is_a_linear_layer_on_the_mean_of_the_map() -> None:
    head, features = TagHead(5), torch.randn(3, 5, 4, 6)
    torch.testing.assert_close(head(features), head.linear(features.flatten(2).mean(2)))
    assert head(features).shape == (3, 2)


@pytest.mark.parametrize("norm", ["frozen", "group", "per_domain", "batch"])
@pytest.mark.parametrize("batch", [1, 3])
def test_aspp_keeps_the_map_and_trains_on_one_image_too(norm: str, batch: int) -> None:
    out = ASPP(12, 16, (1, 2, 3), norm, 0.1).train()(torch.randn(batch, 12, 5, 7))
    assert out.shape == (batch, 16, 5, 7) and torch.isfinite(out).all()


def test_aspp_has_a_view_a_rate_with_that_dilation() -> None:
    aspp = ASPP(12, 16, (12, 24, 36))
    convolutions: list[Any] = [next(view.children()) for view in aspp.views]
    kinds = [(layer.kernel_size[0], layer.dilation[0], layer.padding[0]) for layer in convolutions]
    assert kinds == [(1, 1, 0), (3, 12, 12), (3, 24, 24), (3, 36, 36)]
    assert aspp.fuse[0].in_channels == 5 * 16


def test_aspp_sees_the_whole_image_through_its_pooled_view() -> None:
    aspp, features = ASPP(4, 8, (1,)).eval(), torch.randn(1, 4, 9, 9, requires_grad=True)
    slope = gradient(aspp(features)[0, :, 0, 0].square().sum(), features)
    assert slope[0, :, 8, 8].abs().sum() > 0


def test_aspp_drops_out_only_in_training() -> None:
    aspp, features = ASPP(4, 8, (1,), dropout=0.5), torch.randn(1, 4, 9, 9)
    assert torch.equal(aspp.eval()(features), aspp(features))
    assert not torch.equal(aspp.train()(features), aspp(features))
    assert isinstance(aspp.dropout, nn.Dropout) and aspp.dropout.p == 0.5
