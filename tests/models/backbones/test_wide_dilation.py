"""A dilated convolution by lattices is the dilated convolution."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from endotransfer.models.backbones.backbone import build_backbone
from endotransfer.models.backbones.folding import FoldedConvolution
from endotransfer.models.backbones.wide_dilation import dilated_convolution


@pytest.mark.parametrize(("height", "width", "dilation"), [(32, 32, 16), (8, 12, 4), (7, 5, 3), (3, 20, 16), (1, 1, 2)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_output_and_gradients_equal_those_of_the_plain_call(
    height: int, width: int, dilation: int, bias: bool, layout: torch.memory_format
) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, height, width, dtype=torch.float64).contiguous(memory_format=layout).requires_grad_()
    weight = torch.randn(4, 3, 3, 3, dtype=torch.float64, requires_grad=True)
    offset = torch.randn(4, dtype=torch.float64, requires_grad=True) if bias else None
    ours = dilated_convolution(x, weight, offset, dilation)
    plain = conv2d(x, weight, offset, padding=dilation, dilation=dilation)
    torch.testing.assert_close(ours, plain)
    inputs = [value for value in (x, weight, offset) if value is not None]
    pulled = torch.randn_like(plain)
    for here, there in zip(
        torch.autograd.grad(ours, inputs, pulled), torch.autograd.grad(plain, inputs, pulled), strict=True
    ):
        torch.testing.assert_close(here, there)


def test_only_the_last_block_under_multi_grid_is_wide() -> None:
    net = build_backbone("resnet50", pretrained=False, norm="frozen", multi_grid=(1, 2, 4)).net
    wide = [name for name, layer in net.named_modules() if isinstance(layer, FoldedConvolution) and layer.is_wide]
    assert wide == ["layer4.2.conv2"]


def test_other_shapes_are_left_to_the_library() -> None:
    for settings in ({"stride": 2}, {"padding": 1}, {"groups": 4}, {"kernel_size": 5}, {"dilation": 8, "padding": 8}):
        arguments: dict[str, Any] = {"kernel_size": 3, "padding": 16, "dilation": 16, **settings}
        is_wide: Any = FoldedConvolution.__dict__["is_wide"]
        assert not is_wide.fget(nn.Conv2d(4, 4, **arguments))
