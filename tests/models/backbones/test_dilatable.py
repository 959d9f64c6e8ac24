"""Names of backbones: who is in, who is refused, and whether the list tells the truth."""

from typing import Any

import pytest
import timm
from torch import nn

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.dilatable import (
    FAMILIES,
    SUGGESTIONS,
    accepts_output_stride,
    dilates,
    list_backbones,
    require_output_stride,
)


def test_the_list_is_sorted_holds_the_default_and_all_suggestions() -> None:
    names = list_backbones()
    assert list(names) == sorted(set(names))
    assert len(names) > 400
    assert set(SUGGESTIONS.split(", ")) <= set(names)


@pytest.mark.parametrize("name", ["resnet50", "resnet50.a1_in1k", "mobilenetv2_100", "convnext_tiny"])
def test_known_families_are_accepted(name: str) -> None:
    assert accepts_output_stride(name)
    require_output_stride(name)


@pytest.mark.parametrize(
    "name",
    ["vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "hgnetv2_b0", "densenet121", "efficientnet_x_b3"],
)
def test_models_without_dilation_are_refused_by_name_with_some_that_work(name: str) -> None:
    assert not accepts_output_stride(name)
    said = rf"'{name}' cannot .* output stride 8, .*leave model.head out.*resnet50.*endotransfer backbones"
    with pytest.raises(ConfigError, match=said):
        require_output_stride(name)


def test_an_unlisted_model_that_dilates_is_found_by_building_it() -> None:
    assert "lambda_resnet26t" not in list_backbones()
    assert accepts_output_stride("lambda_resnet26t")


def test_a_misspelt_name_gets_the_nearest_right_one() -> None:
    assert not accepts_output_stride("resnet5O")
    with pytest.raises(ConfigError, match=r"no model called 'resnet5O'; did you mean 'resnet50'\?"):
        require_output_stride("resnet5O")


def test_a_name_like_nothing_gets_suggestions() -> None:
    with pytest.raises(ConfigError, match="try one of resnet50"):
        require_output_stride("§§§§")


def test_a_wrong_tag_names_the_right_ones() -> None:
    with pytest.raises(ConfigError, match=r"no weights called 'resnet50.nonsense', only .*resnet50.a1_in1k"):
        require_output_stride("resnet50.nonsense")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_list_agrees_with_what_timm_builds(family: str) -> None:
    """Every sixth name of a family and all exceptions: building all 470 models takes minutes."""
    listed = set(list_backbones())
    names = timm.list_models(module=family)
    asked = [name for index, name in enumerate(names) if index % 6 == 0 or name not in listed]
    assert [name for name in asked if dilates(name) != (name in listed)] == []


def test_a_backbone_from_outside_is_listed_and_built() -> None:
    from timm.models import register_model

    from endotransfer.models.backbones.backbone import build_backbone

    def outside_resnet(pretrained: bool = False, **settings: Any) -> nn.Module:
        return timm.create_model("test_resnet", pretrained=pretrained, **settings)

    register_model(outside_resnet)
    list_backbones.cache_clear()
    try:
        assert "outside_resnet" in list_backbones()
        assert build_backbone("outside_resnet", pretrained=False, norm="group").channels
    finally:
        list_backbones.cache_clear()
        for names in (timm.models._registry._model_entrypoints, timm.models._registry._model_to_module):
            names.pop("outside_resnet", None)
