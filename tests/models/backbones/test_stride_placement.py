"""Where the stride of a bottleneck sits: how it is known, and that dilation then stands for it exactly."""

from collections.abc import Callable
from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch import nn

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.backbone import build_backbone
from endotransfer.models.backbones.stride_placement import move_stride_to_conv1, stride_placement


def file_with(path: Path, **metadata: str) -> Path:
    save_file({"x": torch.zeros(1)}, path, metadata=metadata or None)
    return path


@pytest.mark.parametrize(
    ("name", "metadata", "expected"),
    [
        ("plain.safetensors", {}, "conv2"),
        ("my-CAFFE-model.safetensors", {}, "conv1"),
        ("plain.safetensors", {"arch": "resnet50 (Caffe style)"}, "conv1"),
        ("plain.safetensors", {"arch": "resnet50", "source": "from caffe"}, "conv2"),
        ("caffe.safetensors", {"stride_placement": "conv2"}, "conv2"),
        ("plain.safetensors", {"stride_placement": "conv1"}, "conv1"),
    ],
)
def test_auto_asks_the_file(tmp_path: Path, name: str, metadata: dict[str, str], expected: str) -> None:
    placement, note = stride_placement("auto", file_with(tmp_path / name, **metadata))
    assert placement == expected
    assert expected in note and name in note


def test_without_a_file_the_usual_placement_holds() -> None:
    assert stride_placement("auto", None)[0] == "conv2"


@pytest.mark.parametrize("stride_on", ["conv1", "conv2"])
def test_the_settings_go_before_the_file(tmp_path: Path, stride_on: str) -> None:
    assert stride_placement(stride_on, tmp_path / "caffe.safetensors")[0] == stride_on


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="auto, conv1 or conv2"):
        stride_placement("conv3", None)


def strided(net: nn.Module) -> dict[str, tuple[int, ...]]:
    convolutions = {name: m for name, m in net.named_modules() if isinstance(m, nn.Conv2d)}
    return {name: conv.stride for name, conv in convolutions.items() if conv.stride != (1, 1)}


def test_at_output_stride_8_only_layer2_has_a_stride_and_it_moves() -> None:
    with torch.device("meta"):
        usual = build_backbone("resnet50", pretrained=False, norm="group")
        moved = build_backbone("resnet50", pretrained=False, norm="group", stride_on="conv1")
    assert set(strided(usual.net)) == {"conv1", "layer2.0.conv2", "layer2.0.downsample.0"}
    assert set(strided(moved.net)) == {"conv1", "layer2.0.conv1", "layer2.0.downsample.0"}


def test_moving_twice_is_moving_once() -> None:
    with torch.device("meta"):
        net = timm.create_model("resnet26", features_only=True, output_stride=8)
    move_stride_to_conv1(net)
    once = strided(net)
    move_stride_to_conv1(net)
    assert strided(net) == once


@pytest.mark.parametrize("placement", ["conv1", "conv2"])
def test_the_dilated_network_is_the_strided_one_on_a_finer_grid(
    placement: str, shake: Callable[[nn.Module], None]
) -> None:
    """Every fourth value of the map at stride 8 equals the map at stride 32: dilation stands for the stride."""
    coarse = timm.create_model("resnet26", features_only=True).double().eval()
    fine = timm.create_model("resnet26", features_only=True, output_stride=8).double().eval()
    shake(coarse)
    fine.load_state_dict(coarse.state_dict())
    if placement == "conv1":
        move_stride_to_conv1(coarse)
        move_stride_to_conv1(fine)
    images = torch.rand(1, 3, 96, 64, dtype=torch.float64)
    with torch.no_grad():
        expected, found = coarse(images)[-1], fine(images)[-1]
    assert expected.std() > 0.1
    torch.testing.assert_close(found[:, :, ::4, ::4], expected)


@pytest.mark.parametrize("name", ["resnet18", "mobilenetv2_100", "resnetaa50d"])
def test_networks_without_plain_bottlenecks_are_refused(name: str) -> None:
    with torch.device("meta"), pytest.raises(ConfigError, match="`stride_on: conv2`"):
        build_backbone(name, pretrained=False, norm="group", stride_on="conv1")
