"""What timm is asked for, family by family; what is refused; and that a map lies where it should."""

import pytest
import torch

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.backbone import build_backbone
from endotransfer.models.backbones.pyramid_plan import pyramid_plan, require_pyramid


@pytest.mark.parametrize(
    ("name", "strides", "indices"),
    [
        ("test_vit", (16, 16, 16, 16), (1, 2, 4, 5)),  # of six blocks
        ("vit_tiny_patch16_224", (16, 16, 16, 16), (2, 5, 8, 11)),
        ("test_convnext", (4, 8, 16, 32), (0, 1, 2, 3)),
        ("test_mambaout", (4, 8, 16, 32), (0, 1, 2, 3)),
        ("test_resnet", (2, 4, 8, 16, 32), (0, 1, 2, 3, 4)),
    ],
)
def test_stages_are_taken_all_and_of_a_vit_four_blocks(
    name: str, strides: tuple[int, ...], indices: tuple[int, ...]
) -> None:
    plan = require_pyramid(name)
    assert (plan.strides, plan.indices, plan.multiple) == (strides, indices, max(strides))


@pytest.mark.parametrize("name", ["beit_base_patch16_224", "maxvit_tiny_tf_224", "convit_tiny"])
def test_what_takes_one_size_alone_or_gives_no_maps_is_refused_by_name(name: str) -> None:
    assert pyramid_plan(name) is None
    with pytest.raises(ConfigError, match=rf"'{name}' gives .* one image size alone.*for example sam2_hiera"):
        require_pyramid(name)


def test_batch_statistics_of_tokens_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'nextvit_small' normalises lists of tokens .*choose another"):
        build_backbone("nextvit_small", pretrained=False, norm="group", pyramid=True)


@pytest.mark.parametrize("name", ["test_vit", "test_convnext", "test_mambaout", "test_resnet"])
@pytest.mark.parametrize("size", [(64, 96), (70, 33), (20, 100)])
def test_maps_of_any_image_have_the_size_that_their_strides_say(name: str, size: tuple[int, int]) -> None:
    backbone = build_backbone(name, pretrained=False, norm="group", pyramid=True).eval()
    images = torch.rand(1, 3, *size)
    height, width = backbone.fitted_size(images)
    assert height % backbone.multiple == width % backbone.multiple == 0
    assert abs(height - size[0]) <= max(backbone.multiple / 2, backbone.multiple - size[0])
    with torch.no_grad():
        maps = backbone(images)
    expected = zip(backbone.stages, backbone.strides, strict=True)
    assert [tuple(one.shape[1:]) for one in maps] == [(c, height // s, width // s) for c, s in expected]


def test_an_image_that_fits_is_not_touched() -> None:
    backbone = build_backbone("test_convnext", pretrained=False, norm="group", pyramid=True)
    images = torch.rand(1, 3, 32, 64)
    assert backbone.fitted(images) is images and backbone.grid(images) == (4, 8)


@pytest.mark.parametrize(("stride", "maps"), [(4, 1), (8, 2), (16, 3), (2, 1)])
def test_a_shallow_part_ends_with_the_map_of_the_stride_or_the_nearest(stride: int, maps: int) -> None:
    backbone = build_backbone("test_convnext", pretrained=False, norm="group", pyramid=True, local_stride=stride)
    assert len(backbone.stages) == maps and backbone.multiple == 32
    assert len(pyramid_plan("test_vit").up_to(8)) == 1  # type: ignore[union-attr]
