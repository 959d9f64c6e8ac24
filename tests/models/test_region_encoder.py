"""SAM 2's image encoder as a view of regions: what it computes, from which files, and that it is never trained."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import conv2d, interpolate

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.region_encoder import NECK, RegionEncoder
from tests.models.sam2_file import trunk, write_encoder

Grid = tuple[int, int]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("regions"))


@torch.no_grad()
def literal_features(path: Path, images: Tensor, grid: Grid) -> Tensor:
    """By timm's own network and the file's tensors, every place of the deeper map written to its four."""
    held = {name: value.float() for name, value in load_file(path).items()}
    net = trunk()
    net.load_state_dict({name: held[f"trunk.{name.removeprefix('model.')}"] for name in net.state_dict()})
    large = interpolate(images, size=(16 * grid[0], 16 * grid[1]), mode="bilinear", align_corners=False)
    maps = net((large - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1))
    deep, middle = (
        conv2d(one, held[NECK.format(number, "weight")], held[NECK.format(number, "bias")])
        for number, one in enumerate((maps[3], maps[2]))
    )
    for y in range(grid[0]):
        for x in range(grid[1]):
            middle[:, :, y, x] += deep[:, :, y // 2, x // 2]
    return middle


def check(path: Path, grid: Grid) -> None:
    images = torch.rand(2, 3, 8 * grid[0], 8 * grid[1], generator=torch.Generator().manual_seed(1))
    found = RegionEncoder(path)(images, grid)
    assert tuple(found.shape) == (2, 256, *grid)
    torch.testing.assert_close(found, literal_features(path, images, grid), rtol=1e-4, atol=1e-4)


def test_features_are_those_of_trunk_and_neck_at_twice_the_size(drawn: Path) -> None:
    check(drawn, (4, 6))


def test_so_are_those_of_the_real_encoder(real_weights: Callable[[str], Path]) -> None:
    check(real_weights("sam2_hiera_tiny-image-encoder-fp16.safetensors"), (6, 4))


def test_any_grid_is_answered(drawn: Path) -> None:
    assert tuple(RegionEncoder(drawn)(torch.rand(1, 3, 40, 56), (5, 7)).shape) == (1, 256, 5, 7)


def test_it_is_never_trained(drawn: Path) -> None:
    encoder = RegionEncoder(drawn).train()
    assert not any(module.training for module in encoder.modules())
    assert not any(parameter.requires_grad for parameter in encoder.parameters())
    assert not encoder(torch.rand(1, 3, 32, 32), (4, 4)).requires_grad


def test_a_missing_file_is_one_sentence_that_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^model\.region_weights: there is no file .*none\.safetensors; correct"):
        RegionEncoder(tmp_path / "none.safetensors")


def test_a_file_of_another_network_is_one_sentence_that_says_which_is_meant(tmp_path: Path) -> None:
    save_file({"conv1.weight": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(
        ConfigError, match=r"^model\.region_weights: .* lacks .*; choose a file of SAM 2's tiny image enc"
    ):
        RegionEncoder(tmp_path / "other.safetensors")


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(b"not safetensors at all")
    with pytest.raises(CheckpointError, match=r"^model\.region_weights: .*cut\.safetensors"):
        RegionEncoder(path)


@pytest.mark.parametrize("change", ["gone", "narrow"])
def test_a_file_without_the_neck_is_refused_by_name(drawn: Path, tmp_path: Path, change: str) -> None:
    state, key = load_file(drawn), NECK.format(1, "weight")
    if change == "gone":
        del state[key]
    else:
        state[key] = state[key][:, :8].contiguous()
    save_file(state, tmp_path / "part.safetensors")
    with pytest.raises(ConfigError, match=r"lacks 'image_encoder\.neck\.convs\.1\.conv\.weight'; choose a file of SAM"):
        RegionEncoder(tmp_path / "part.safetensors")
