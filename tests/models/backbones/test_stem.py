"""Both halves of a segmenter are the segmenter, and what enters the second is what the header says."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from endotransfer.config import ModelConfig
from endotransfer.errors import ConfigError
from endotransfer.models.backbones.stem import from_low_level, low_level, low_level_channels
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter

Tiny = Callable[..., ModelConfig]
CHAINS = [
    ("test_resnet", 32, 4),
    ("resnet18", 64, 4),
    ("mobilenetv2_100", 16, 2),
    ("mobilenetv3_small_100", 16, 2),
    ("mobilenetv4_conv_small", 32, 2),
    ("efficientnet_lite0", 16, 2),
    ("convnext_atto", 40, 4),
    ("regnetx_002", 32, 2),
]


def build(model: ModelConfig, tags: bool = True) -> Segmenter:
    torch.manual_seed(0)
    return build_segmenter(model, 2, tags)


@torch.no_grad()
@pytest.mark.parametrize(("name", "channels", "reduction"), CHAINS)
def test_both_halves_are_the_segmenter(tiny: Tiny, images: Tensor, name: str, channels: int, reduction: int) -> None:
    segmenter = build(tiny(backbone=name)).eval()
    low = low_level(segmenter, images)
    before = low.clone()
    out, expected = from_low_level(segmenter, low), segmenter(images)
    height, width = segmenter.backbone.fitted_size(images)
    assert low.shape == (4, channels, height // reduction, width // reduction)
    assert low_level_channels(segmenter) == channels
    assert torch.equal(low, before)  # the generator reads them afterwards
    assert torch.equal(out.logits, expected.logits)
    assert out.tag_logits is not None and torch.equal(out.tag_logits, expected.tag_logits)
    assert torch.equal(out.features, expected.features)


def test_every_weight_is_in_one_of_the_halves(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(), tags=False)
    assert low_level(segmenter, images).requires_grad
    torch.autograd.backward(from_low_level(segmenter, low_level(segmenter, images)).logits.sum())
    assert all(parameter.grad is not None for parameter in segmenter.parameters())


def test_a_half_moves_statistics_of_its_own_layers_and_domain_only(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny(norm="per_domain")).train()

    def moved_by(action: Callable[[], object]) -> set[str]:
        before = {name: value.clone() for name, value in segmenter.state_dict().items()}
        action()
        return {name for name, value in segmenter.state_dict().items() if not torch.equal(before[name], value)}

    low = low_level(segmenter, images)
    assert not moved_by(lambda: low_level_channels(segmenter))
    in_first = moved_by(lambda: low_level(segmenter, images, "target"))
    in_second = moved_by(lambda: from_low_level(segmenter, low, "target"))
    assert in_first and all("statistics.target" in name and "layer" not in name for name in in_first)
    assert in_second and all("statistics.target" in name for name in in_second) and not in_first & in_second


@pytest.mark.parametrize("name", ["xception41", "test_vit", "test_mambaout"])
def test_a_backbone_that_is_no_chain_is_refused_with_the_way_out(tiny: Tiny, name: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.backbone: .*for example resnet50"):
        low_level_channels(build(tiny(backbone=name)))
