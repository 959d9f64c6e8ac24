"""The contract of a backbone, over a handful of families; what it refuses; what its state remembers."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from endotransfer.config import ModelConfig
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.backbones.backbone import (
    Backbone,
    backbone_of,
    build_backbone,
    empty_backbone,
    shallow_backbone,
)
from endotransfer.models.backbones.feature_net import PLAIN_STRIDE
from endotransfer.models.backbones.normalisation import FrozenBatchNorm

HANDFUL = [
    "test_resnet",
    "resnet18",
    "mobilenetv2_100",
    "mobilenetv3_small_100",
    "efficientnet_lite0",
    "convnext_atto",
    "regnetx_002",
    "xception41",
]


def build(name: str = "test_resnet", **changes: object) -> Backbone:
    return build_backbone(name, **({"pretrained": False, "norm": "group"} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", HANDFUL)
def test_last_map_is_an_eighth_and_channels_are_told_truly(name: str) -> None:
    backbone = build(name).eval()
    with torch.no_grad():
        maps = backbone(torch.rand(1, 3, 48, 64))
    assert tuple(maps[-1].shape) == (1, backbone.channels, 6, 8)
    assert tuple(stage.shape[1] for stage in maps) == backbone.stages
    assert torch.isfinite(maps[-1]).all()


@pytest.mark.parametrize("name", ["test_resnet", "mobilenetv2_100", "efficientnet_lite0", "regnetx_002"])
@pytest.mark.parametrize("norm", ["group", "per_domain"])
def test_every_kind_of_norm_layer_is_converted_with_its_activation(name: str, norm: str) -> None:
    plain, changed = build(name, norm="batch"), build(name, norm=norm)
    assert not any(type(layer).__module__.startswith("timm") and isinstance(layer, nn.BatchNorm2d)
                   for layer in changed.modules())  # fmt: skip
    count = [sum(isinstance(m, nn.ReLU | nn.ReLU6) for m in net.modules()) for net in (plain, changed)]
    assert count[0] == count[1] > 0


def test_colours_are_those_of_the_weights() -> None:
    assert build("resnet18").mean == (0.485, 0.456, 0.406)
    assert build("resnet18").std == (0.229, 0.224, 0.225)
    assert build("test_resnet").mean == (0.5, 0.5, 0.5)


def test_frozen_without_weights_is_refused_with_the_way_out(tiny: Callable[..., ModelConfig]) -> None:
    with pytest.raises(ConfigError, match=r"frozen needs .*`norm: group`"):
        backbone_of(tiny(norm="frozen"))


def test_frozen_is_fine_where_there_is_nothing_to_freeze(tiny: Callable[..., ModelConfig]) -> None:
    assert backbone_of(tiny(backbone="convnext_atto", norm="frozen")).channels == 320


def test_a_network_about_to_be_filled_needs_no_weights_and_no_network(
    tiny: Callable[..., ModelConfig], tmp_path: Path
) -> None:
    backbone = empty_backbone(tiny(norm="frozen", pretrained=True, weights=tmp_path / "gone.safetensors"))
    assert any(isinstance(layer, FrozenBatchNorm) for layer in backbone.modules())
    assert backbone.notes == []


def test_without_a_network_the_error_names_both_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match=r"'test_resnet' cannot be loaded .*`weights: .*`pretrained: false`"):
        build(pretrained=True)


def test_an_unfit_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="vit_tiny_patch16_224"):
        build("vit_tiny_patch16_224")


def output(backbone: Backbone, images: Tensor) -> Tensor:
    with torch.no_grad():
        return cast(Tensor, backbone.eval()(images)[-1])


def test_the_stride_is_part_of_the_state_even_where_the_settings_forgot_it(images: Tensor) -> None:
    grid = (1, 2, 4)
    trained = build("resnet26", stride_on="conv1", norm="batch", multi_grid=grid)
    loaded = build("resnet26", stride_on="auto", norm="batch", multi_grid=grid)
    nn.init.ones_(trained.net.layer2[0].bn3.weight)  # zero at first, which would hide the strided branch
    loaded.load_state_dict(trained.state_dict())
    assert loaded.stride_on == "conv1"
    assert torch.equal(output(trained, images), output(loaded, images))
    usual = build("resnet26", norm="batch", multi_grid=grid)
    usual.net.load_state_dict(trained.net.state_dict())
    assert not torch.allclose(output(trained, images), output(usual, images))


def test_settings_that_contradict_the_checkpoint_are_refused() -> None:
    usual, moved = build("resnet26"), build("resnet26", stride_on="conv1")
    with pytest.raises(CheckpointError, match="conv2"):
        moved.load_state_dict(usual.state_dict())


@pytest.mark.parametrize("name", HANDFUL)
def test_plain_strides_give_a_quarter_to_a_thirty_second(name: str) -> None:
    backbone = build(name, output_stride=PLAIN_STRIDE).eval()
    with torch.no_grad():
        maps = backbone(torch.rand(1, 3, 64, 96))
    assert [tuple(stage.shape[2:]) for stage in maps[-4:]] == [(16, 24), (8, 12), (4, 6), (2, 3)]
    assert tuple(stage.shape[1] for stage in maps) == backbone.stages


def test_plain_and_dilated_backbones_share_their_weights() -> None:
    plain, dilated = build(output_stride=PLAIN_STRIDE), build()
    assert plain.state_dict().keys() == dilated.state_dict().keys()
    plain.load_state_dict(dilated.state_dict())
    images = torch.rand(1, 3, 64, 64)
    shallow = [backbone.eval()(images)[:3] for backbone in (plain, dilated)]  # up to 1/8 there is no difference
    assert all(torch.equal(one, other) for one, other in zip(*shallow, strict=True))


# -- the first stages alone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HANDFUL)
def test_a_shallow_backbone_is_the_first_stages_of_the_whole_one(name: str) -> None:
    whole, shallow = build(name).eval(), build(name, local_stride=8).eval()
    shared = {key: value for key, value in whole.state_dict().items() if key in shallow.state_dict()}
    shallow.load_state_dict(shared)
    images = torch.rand(1, 3, 48, 64)
    with torch.no_grad():
        maps, all_maps = shallow(images), whole(images)
    assert [stage.shape[2:] == (6, 8) for stage in maps] == [False] * (len(maps) - 1) + [True]
    assert all(torch.equal(one, other) for one, other in zip(maps, all_maps[: len(maps)], strict=True))
    assert shallow.channels == maps[-1].shape[1] and shallow.stages == whole.stages[: len(maps)]


@pytest.mark.parametrize("name", HANDFUL)
def test_a_shallow_backbone_holds_no_deeper_weights(name: str) -> None:
    assert build(name, local_stride=8).state_dict().keys() < build(name).state_dict().keys()


def test_a_shallow_backbone_takes_its_part_of_the_weights(
    tiny: Callable[..., ModelConfig], taught: Path, images: Tensor
) -> None:
    shallow = shallow_backbone(tiny(weights=taught, norm="batch"))
    whole = build(weights=taught, norm="frozen")
    with torch.no_grad():
        assert torch.equal(shallow(images)[-1], whole(images)[len(shallow.stages) - 1])
    norms = [layer for layer in shallow.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert norms and all(isinstance(layer, FrozenBatchNorm) for layer in norms) and shallow.folded


@pytest.mark.parametrize("norm", ["batch", "per_domain", "group"])
def test_a_shallow_backbone_without_weights_has_no_statistics_that_move(
    tiny: Callable[..., ModelConfig], norm: str, images: Tensor
) -> None:
    shallow = shallow_backbone(tiny(norm=norm)).train()
    before = {name: value.clone() for name, value in shallow.state_dict().items()}
    shallow(images)
    assert all(torch.equal(before[name], value) for name, value in shallow.state_dict().items())
    assert any(isinstance(layer, nn.GroupNorm) for layer in shallow.modules())


def test_a_shallow_backbone_strides_where_the_settings_say(tiny: Callable[..., ModelConfig], images: Tensor) -> None:
    shallow = shallow_backbone(tiny(backbone="resnet26", stride_on="conv1"))
    whole = build("resnet26", stride_on="conv1")
    for key, value in shallow.state_dict().items():
        value.copy_(whole.state_dict()[key])
    for backbone in (shallow, whole):
        nn.init.ones_(backbone.net.layer2[0].bn3.weight)
    assert shallow.stride_on == "conv1"
    with torch.no_grad():
        assert torch.equal(output(shallow, images), whole.eval()(images)[len(shallow.stages) - 1])
