"""timm's network behind a backbone: dilated to 1/8 of the image, at plain strides, or as its own family has it."""

from functools import partial
from typing import Any

import timm
import torch
from torch import nn

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.dilatable import require_output_stride
from endotransfer.models.backbones.pyramid_plan import PYRAMIDS, PyramidPlan, require_pyramid

PLAIN_STRIDE = 32  # no stage is dilated: the last four maps are 1/4, 1/8, 1/16 and 1/32 of the image


def dilated_net(name: str, output_stride: int, *, fetch: bool, local_stride: int | None = None) -> nn.Module:
    """The network at output stride 8 (or 32); `local_stride`: nothing beyond its first map of that stride."""
    require_output_stride(name)
    create = partial(timm.create_model, name, features_only=True, output_stride=output_stride)
    if local_stride is not None:
        with torch.device("meta"):
            strides: list[int] = create(pretrained=False).feature_info.reduction()  # type: ignore[operator,union-attr]
        if local_stride not in strides:
            raise ConfigError(
                f"model.local_stride: '{name}' has no map of 1/{local_stride} of the image; write one of "
                f"{', '.join(str(one) for one in dict.fromkeys(strides))}."
            )
        create = partial(create, out_indices=tuple(range(strides.index(local_stride) + 1)))
    return _fetched(name, create, fetch=fetch)


def pyramid_net(name: str, *, fetch: bool, local_stride: int | None = None) -> tuple[nn.Module, PyramidPlan]:
    """The network with its own strides, for images whose sides are multiples of the plan's."""
    plan = require_pyramid(name)
    indices = plan.indices if local_stride is None else plan.up_to(local_stride)
    create = partial(timm.create_model, name, features_only=True, out_indices=indices, **plan.options)
    net = _fetched(name, create, fetch=fetch)
    if any(isinstance(layer, nn.BatchNorm1d) for layer in net.modules()):
        raise ConfigError(
            f"model.backbone: '{name}' normalises lists of tokens by batch statistics, which no model.norm can keep "
            f"apart by domain; choose another, for example {PYRAMIDS}."
        )
    return net, plan


def _fetched(name: str, create: "partial[Any]", *, fetch: bool) -> nn.Module:
    if not fetch:
        return _cut_off(create(pretrained=False))
    try:
        return _cut_off(create(pretrained=True))
    except Exception as reason:  # no network, no such weights, weights that do not fit: many kinds of error
        raise ConfigError(
            f"model.pretrained: timm's weights of '{name}' cannot be loaded ({type(reason).__name__}); connect "
            "to the network, or name a file with `weights: file.safetensors`, or write `pretrained: false`."
        ) from reason


def _cut_off(net: Any) -> nn.Module:
    """Without the blocks behind the last map that is asked for; timm itself leaves them in EfficientNet's family."""
    container, _, last = net.feature_info.module_name()[-1].partition(".")
    if container == "blocks" and last.isdecimal() and hasattr(net, "blocks"):
        net.blocks = net.blocks[: int(last) + 1]
    return net  # type: ignore[no-any-return]


def classification_names(name: str) -> frozenset[str]:
    """Names of all tensors of the whole classification network: what a file may hold beyond the features."""
    with torch.device("meta"):
        return frozenset(timm.create_model(name).state_dict())
