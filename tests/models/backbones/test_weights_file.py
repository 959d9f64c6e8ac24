"""Local weight files: what loads, and one sentence for each that does not."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import timm
import torch
import torchvision
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.backbones.backbone import build_backbone
from endotransfer.models.backbones.mobilenet_names import timm_name
from endotransfer.models.backbones.normalisation import FrozenBatchNorm
from endotransfer.models.backbones.weights_file import load_weights, read_metadata

State = dict[str, Tensor]


@pytest.fixture
def state(shake: Callable[[nn.Module], None]) -> State:
    """All tensors of the classification network, as its makers would publish them."""
    net = timm.create_model("test_resnet")
    shake(net)
    return {name: value.clone() for name, value in net.state_dict().items()}


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[State], Path]:
    def save(state: State) -> Path:
        save_file(state, tmp_path / "weights.safetensors")
        return tmp_path / "weights.safetensors"

    return save


def build(path: Path, name: str = "test_resnet", norm: str = "frozen") -> nn.Module:
    return cast(nn.Module, build_backbone(name, pretrained=True, weights=path, norm=norm).net)


def test_every_tensor_arrives_and_statistics_survive_freezing(state: State, saved: Callable[[State], Path]) -> None:
    loaded = build(saved(state)).state_dict()
    assert all(torch.equal(value, state[name]) for name, value in loaded.items())
    assert set(state) - set(loaded) == {"fc.weight", "fc.bias"}


def test_half_precision_is_widened(state: State, saved: Callable[[State], Path]) -> None:
    halved = {name: value.half() if value.ndim == 4 else value for name, value in state.items()}
    loaded = build(saved(halved)).state_dict()
    assert all(value.dtype == torch.float32 for name, value in loaded.items() if name.endswith("weight"))
    assert torch.equal(loaded["conv1.0.weight"], state["conv1.0.weight"].half().float())


def test_counters_may_be_absent(state: State, saved: Callable[[State], Path]) -> None:
    build(saved({name: value for name, value in state.items() if not name.endswith("num_batches_tracked")}))


@pytest.mark.parametrize("name", ["convnext_atto", "xception41", "mobilenetv3_small_100"])
def test_a_published_file_loads_where_the_extractor_renames_its_parts(
    name: str, saved: Callable[[State], Path]
) -> None:
    """Twin: timm's own loader, which fills the whole network before it takes the extractor out of it."""
    path = saved(timm.create_model(name).state_dict())
    overlay = {"file": str(path)}
    twin = timm.create_model(
        name, features_only=True, output_stride=8, pretrained=True, pretrained_cfg_overlay=overlay
    ).state_dict()
    loaded = build(path, name, norm="batch").state_dict()
    assert loaded.keys() == twin.keys()
    assert all(torch.equal(value, twin[tensor]) for tensor, value in loaded.items())


def test_a_missing_tensor_is_named(state: State, saved: Callable[[State], Path]) -> None:
    del state["bn1.weight"]
    with pytest.raises(ConfigError, match=r"lacks 'bn1.weight'; choose a file for this backbone"):
        build(saved(state))


def test_a_file_of_another_backbone_is_refused_briefly(state: State, saved: Callable[[State], Path]) -> None:
    with pytest.raises(ConfigError, match=r"lacks '[^']+', '[^']+', '[^']+' and \d+ more; "):
        build(saved(state), "mobilenetv3_small_100")


def test_an_unexpected_tensor_is_named(state: State, saved: Callable[[State], Path]) -> None:
    with pytest.raises(ConfigError, match=r"holds 'layer9.weight', unknown here"):
        build(saved(state | {"layer9.weight": torch.zeros(1)}))


def test_a_wrong_shape_is_told_both_ways(state: State, saved: Callable[[State], Path]) -> None:
    state["bn1.weight"] = torch.zeros(7)
    with pytest.raises(ConfigError, match=r"'bn1.weight' in .* has shape \(7,\) where this backbone has \(32,\)"):
        build(saved(state))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_no_numbers_are_refused(state: State, saved: Callable[[State], Path], value: float) -> None:
    state["bn1.bias"][3] = value
    with pytest.raises(CheckpointError, match=r"'bn1.bias' in .* not finite"):
        build(saved(state))


def test_a_missing_file_is_a_slip_in_the_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no file .*gone.safetensors"):
        build(tmp_path / "gone.safetensors")
    with pytest.raises(ConfigError, match="there is no file"):
        build(tmp_path)


@pytest.mark.parametrize("length", [0, 5, 8, 500, 20_000, -1])
def test_a_truncated_file_is_refused(state: State, saved: Callable[[State], Path], length: int) -> None:
    path = saved(state)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(CheckpointError, match="no whole safetensors file; fetch or copy it again"):
        build(path)
    with pytest.raises(CheckpointError):
        read_metadata(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(b"PK\x03\x04" + bytes(2000))
    with pytest.raises(CheckpointError, match="no whole safetensors file"):
        build(path)


def test_a_header_over_the_limit_is_refused_unread(tmp_path: Path, state: State) -> None:
    path = tmp_path / "weights.safetensors"
    save_file(state, path, metadata={"note": "x" * 1_000_000})
    with pytest.raises(ConfigError, match="header of more than 1 MB"):
        build(path)


def test_a_file_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    with path.open("wb") as file:
        file.truncate(2 * 1024**3 + 1)  # a hole: it takes no space
    with pytest.raises(ConfigError, match="larger than 2 GB"):
        build(path)


def test_a_file_that_may_not_be_read_is_told(
    state: State, saved: Callable[[State], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(state)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigError, match="cannot be read; check its permissions"):
        build(path)


def compare_mobilenets(theirs: torchvision.models.MobileNetV2, path: Path) -> float:
    """Largest difference between torchvision's features and ours, both at stride 32, from one file."""
    ours = timm.create_model("mobilenetv2_100", features_only=True).eval()
    load_weights(ours, path, frozenset(timm.create_model("mobilenetv2_100").state_dict()))
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        expected = theirs.eval().features[:18](images)
        found = ours(images)[-1]
    assert expected.std() > 1e-3
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.fixture
def torchvision_mobilenet(shake: Callable[[nn.Module], None]) -> torchvision.models.MobileNetV2:
    net: torchvision.models.MobileNetV2 = torchvision.models.mobilenet_v2(weights=None)
    shake(net)
    return net


def test_torchvision_names_of_mobilenet_mean_the_same_network(
    torchvision_mobilenet: torchvision.models.MobileNetV2, saved: Callable[[State], Path]
) -> None:
    path = saved(torchvision_mobilenet.state_dict())
    assert compare_mobilenets(torchvision_mobilenet, path) < 1e-5


def test_torchvision_names_map_onto_all_of_timms(torchvision_mobilenet: torchvision.models.MobileNetV2) -> None:
    names = {timm_name(name) for name in torchvision_mobilenet.state_dict()}
    assert names == set(timm.create_model("mobilenetv2_100").state_dict())


@pytest.mark.parametrize("name", ["layer1.0.conv1.weight", "features.19.0.weight", "features.3.conv.9.weight", "x"])
def test_other_names_stay(name: str) -> None:
    assert timm_name(name) == name


def test_real_mobilenet_equals_torchvisions(
    real_weights: Callable[[str], Path], torchvision_mobilenet: torchvision.models.MobileNetV2
) -> None:
    path = real_weights("mobilenet_v2-imagenet-backbone-fp16.safetensors")
    missing = torchvision_mobilenet.load_state_dict(load_file(path), strict=False)
    assert all(name.startswith("classifier") or name.endswith("tracked") for name in missing.missing_keys)
    assert compare_mobilenets(torchvision_mobilenet, path) < 1e-5
    assert build(path, "mobilenetv2_100") is not None


def test_real_resnet50_of_caffe_loads_with_its_stride(real_weights: Callable[[str], Path]) -> None:
    path = real_weights("resnet50-imagenet-caffe-backbone-fp16.safetensors")
    backbone = build_backbone("resnet50", pretrained=True, weights=path, multi_grid=(1, 2, 4), norm="frozen")
    assert backbone.notes == [
        f"backbone: 265 tensors from {path.name}",
        f"backbone: stride on conv1, because {path.name} is of the Caffe kind",
    ]
    block, stem = backbone.net.layer2[0], backbone.net.bn1
    assert (block.conv1.stride, block.conv2.stride) == ((2, 2), (1, 1))
    assert isinstance(stem, FrozenBatchNorm) and stem.running_var is not None
    assert stem.running_var.max() > 65504  # beyond half precision, and still finite
    with torch.no_grad():
        features = backbone.eval()(torch.randn(1, 3, 64, 64))[-1]
    assert features.shape == (1, 2048, 8, 8)
    assert torch.isfinite(features).all() and features.std() > 0.01


# -- a backbone within a larger model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "trunk.", "image_encoder.trunk."])
def test_a_transformer_is_found_under_whatever_name_it_has_in_a_larger_model(
    prefix: str, saved: Callable[[State], Path]
) -> None:
    whole = timm.create_model("test_vit").state_dict()
    further = {"neck.conv.weight": torch.zeros(1)} if prefix else {}
    path = saved({prefix + name: value for name, value in whole.items()} | further)
    backbone = build_backbone("test_vit", pretrained=True, weights=path, pyramid=True)
    loaded = backbone.net.state_dict()
    assert all(torch.equal(value, whole[name.removeprefix("model.")]) for name, value in loaded.items())
    assert (f"its part {prefix.rstrip('.')}" in backbone.notes[0]) == bool(prefix)


def test_without_a_prefix_a_strange_tensor_is_still_refused(saved: Callable[[State], Path]) -> None:
    path = saved(timm.create_model("test_vit").state_dict() | {"neck.conv.weight": torch.zeros(1)})
    with pytest.raises(ConfigError, match=r"holds 'neck.conv.weight', unknown here"):
        build_backbone("test_vit", pretrained=True, weights=path, pyramid=True)


def test_the_maps_of_sam_2s_hiera_are_those_of_timm(real_weights: Callable[[str], Path]) -> None:
    path = real_weights("sam2_hiera_tiny-image-encoder-fp16.safetensors")
    backbone = build_backbone("sam2_hiera_tiny", pretrained=True, weights=path, pyramid=True).eval()
    trunk = {name.removeprefix("trunk."): value.float() for name, value in load_file(path).items() if "trunk." in name}
    twin = timm.create_model("sam2_hiera_tiny", features_only=True).eval()
    twin.model.load_state_dict(trunk)  # type: ignore[union-attr]
    images = torch.randn(1, 3, 64, 96)
    with torch.no_grad():
        assert all(torch.equal(one, other) for one, other in zip(backbone(images), twin(images), strict=True))
