"""Dilations of a ResNet's last stage."""

import pytest
import torch
from torch import nn

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.backbone import build_backbone
from endotransfer.models.backbones.multi_grid import spatial_convolutions


def last_stage(name: str, grid: tuple[int, ...] | None) -> list[list[nn.Conv2d]]:
    """The 3x3 convolutions of each block of layer4."""
    with torch.device("meta"):
        backbone = build_backbone(name, pretrained=False, norm="group", multi_grid=grid)
    return [list(spatial_convolutions(block)) for block in backbone.net.layer4]


def dilations(name: str, grid: tuple[int, ...] | None) -> list[list[int]]:
    return [[conv.dilation[0] for conv in block] for block in last_stage(name, grid)]


def test_resnet50_looks_4_8_and_16_apart() -> None:
    assert dilations("resnet50", (1, 2, 4)) == [[4], [8], [16]]


def test_without_a_grid_timm_decides() -> None:
    assert dilations("resnet50", None) == [[2], [4], [4]]


def test_padding_equals_dilation_so_that_maps_keep_their_size() -> None:
    for block in last_stage("resnet50", (1, 2, 4)):
        assert all(conv.padding == conv.dilation and conv.stride == (1, 1) for conv in block)


def test_both_convolutions_of_a_basic_block_are_dilated() -> None:
    assert dilations("resnet18", (1, 2, 4)) == [[4, 4], [8, 8]]


def test_a_grid_shorter_than_the_stage_starts_again() -> None:
    assert dilations("resnet50", (1, 2)) == [[4], [8], [4]]


def test_earlier_stages_stay_as_they_are() -> None:
    with torch.device("meta"):
        backbone = build_backbone("resnet50", pretrained=False, norm="group", multi_grid=(1, 2, 4))
    assert [block.conv2.dilation[0] for block in backbone.net.layer3] == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("name", ["mobilenetv2_100", "convnext_atto", "res2net50_26w_4s"])
def test_other_families_are_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(ConfigError, match="`multi_grid: null`"):
        last_stage(name, (1, 2, 4))


@pytest.mark.parametrize("grid", [(), (0, 1), (1, -2)])
def test_a_grid_of_nonsense_is_refused(grid: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="numbers from 1 up"):
        last_stage("resnet18", grid)
