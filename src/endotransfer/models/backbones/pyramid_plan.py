"""How timm is asked for the feature maps of a network with its own strides, for images of any size.

Hiera, Swin, PVT or ConvNeXt give maps at 1/4 to 1/32 of the image, a plain ViT maps of one stride from several depths.
What a family wants said in order to take any image is found out once, by building it without memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import timm
import torch
from torch import Tensor, nn

from endotransfer.errors import ConfigError

DEPTHS = 4  # maps that are taken from a network of one stride, at equal distances
# In turn, until one of them works: as it is; position embeddings resampled (ViT); windows that are not tied to a size.
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"dynamic_img_size": True}, {"strict_img_size": False})
PYRAMIDS = "sam2_hiera_tiny, convnext_tiny, swin_tiny_patch4_window7_224, pvt_v2_b2, vit_small_patch14_dinov2"


@dataclass(frozen=True)
class PyramidPlan:
    options: dict[str, Any]  # for timm
    strides: tuple[int, ...]  # of the maps, shallow to deep
    indices: tuple[int, ...]  # timm's numbers of these maps

    @property
    def multiple(self) -> int:
        """What height and width of an image are to be multiples of."""
        return max(self.strides)

    def up_to(self, stride: int) -> tuple[int, ...]:
        """The numbers of the maps up to the first of `stride`, or up to the one nearest to it."""
        nearest = min(self.strides, key=lambda one: abs(one - stride))
        return self.indices[: self.strides.index(nearest) + 1]


def require_pyramid(name: str) -> PyramidPlan:
    """Refuse by name what gives no maps, or maps of one image size alone."""
    plan = pyramid_plan(name)
    if plan is None:
        raise ConfigError(
            f"model.backbone: timm's '{name}' gives feature maps of one image size alone, or none; choose another, for "
            f"example {PYRAMIDS}."
        )
    return plan


@cache
def pyramid_plan(name: str) -> PyramidPlan | None:
    """None: no way was found."""
    with torch.device("meta"), torch.no_grad():
        return next(_working_plans(name), None)


def _working_plans(name: str) -> Iterator[PyramidPlan]:
    for options in OPTIONS:
        try:
            indices = _indices(timm.create_model(name, features_only=True, **options))
            net: Any = timm.create_model(name, features_only=True, out_indices=indices, **options).eval()
            plan = PyramidPlan(options, tuple(net.feature_info.reduction()), indices)
            if _keeps_its_word(net, plan):
                yield plan
        except Exception:  # timm refuses in many ways: TypeError, AssertionError, RuntimeError, ...
            continue


def _indices(net: Any) -> tuple[int, ...]:
    """All stages; of a network with one stride, whose "stages" are single blocks, a few at equal distances."""
    if len(set(net.feature_info.reduction())) > 1:
        return tuple(net.feature_info.out_indices)
    blocks = len(net.feature_info.info)
    return tuple(dict.fromkeys(-(-blocks * part // DEPTHS) - 1 for part in range(1, DEPTHS + 1)))


def _keeps_its_word(net: Any, plan: PyramidPlan) -> bool:
    """Whether every map has the size and the channels that it should have, for an image of no special size."""
    height, width = 3 * plan.multiple, 2 * plan.multiple
    maps = [channels_first(net, one) for one in net(torch.empty(1, 3, height, width))]
    told = zip(net.feature_info.channels(), plan.strides, strict=True)
    return [tuple(one.shape[1:]) for one in maps] == [(c, height // s, width // s) for c, s in told]


def channels_first(net: nn.Module, features: Tensor) -> Tensor:
    """Swin and some others of timm keep channels last."""
    return features.permute(0, 3, 1, 2) if getattr(net, "output_fmt", None) == "NHWC" else features
