"""The backbone: a timm feature extractor, dilated or plain, with weights, stride and normalisation settled."""

from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
from torch import Tensor, nn

from endotransfer.config import ModelConfig
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.backbones.dilatable import (
    OUTPUT_STRIDE,
    accepts_output_stride,
    list_backbones,
    require_output_stride,
)
from endotransfer.models.backbones.folding import fold_frozen
from endotransfer.models.backbones.multi_grid import set_multi_grid
from endotransfer.models.backbones.normalisation import FrozenBatchNorm, apply_norm
from endotransfer.models.backbones.stride_placement import move_stride_to_conv1, stride_placement
from endotransfer.models.backbones.weights_file import load_weights

__all__ = [
    "PLAIN_STRIDE",
    "Backbone",
    "accepts_output_stride",
    "backbone_of",
    "build_backbone",
    "empty_backbone",
    "list_backbones",
    "shallow_backbone",
    "shallow_norm",
]

PLAIN_STRIDE = 32  # no stage is dilated: the last four maps are 1/4, 1/8, 1/16 and 1/32 of the image


class Backbone(nn.Module):
    """Normalised images [B, 3, H, W] -> feature maps of all stages, the last [B, channels, H / 8, W / 8] (or / 32)."""

    stride_on_conv: Tensor

    def __init__(self, net: Any, stride_on: str, notes: list[str], *, folded: bool = False) -> None:
        super().__init__()
        self.net = net
        self.folded = folded  # no normalisation is left that would be slow with channels last in memory
        self.notes = notes  # how weights and stride were settled, for the log
        self.stages: tuple[int, ...] = tuple(net.feature_info.channels())
        self.channels = self.stages[-1]
        # The colours the weights were trained with: ImageNet's for nearly all of timm.
        self.mean: tuple[float, ...] = tuple(net.pretrained_cfg["mean"])
        self.std: tuple[float, ...] = tuple(net.pretrained_cfg["std"])
        # Part of the state: a checkpoint cannot be run with the stride elsewhere, though all its shapes would fit.
        self.register_buffer("stride_on_conv", torch.tensor(1 if stride_on == "conv1" else 2))
        self.stride_on = stride_on
        self.register_load_state_dict_post_hook(_follow_stride)  # type: ignore[no-untyped-call]

    def forward(self, images: Tensor) -> list[Tensor]:
        maps: list[Tensor] = self.net(images)
        return maps


def _follow_stride(backbone: Backbone, _: object) -> None:
    """After a checkpoint is loaded: put the stride where it was in training."""
    trained_with = f"conv{int(backbone.stride_on_conv)}"
    if (backbone.stride_on, trained_with) == ("conv1", "conv2"):
        raise CheckpointError(
            "the checkpoint was trained with `model.stride_on: conv2` and the experiment says conv1; change it."
        )
    if trained_with == "conv1":
        move_stride_to_conv1(backbone.net)
        backbone.stride_on = "conv1"


def build_backbone(
    name: str,
    *,
    pretrained: bool,
    weights: Path | None = None,
    multi_grid: tuple[int, ...] | None = None,
    norm: str = "frozen",
    stride_on: str = "auto",
    output_stride: int = OUTPUT_STRIDE,
    shallow: bool = False,
) -> Backbone:
    """Build the timm model `name`; a `weights` file goes before `pretrained`, which fetches from timm's hub.

    `shallow`: nothing beyond the first map of 1/8 of the image.
    """
    require_output_stride(name)
    net = _create(name, output_stride, fetch=pretrained and weights is None, shallow=shallow)
    notes = [load_weights(net, weights, _classification_names(name))] if weights else []
    placement, why = stride_placement(stride_on, weights)
    if placement == "conv1":
        move_stride_to_conv1(net)
        notes.append(f"backbone: {why}")
    if multi_grid is not None:
        set_multi_grid(net, multi_grid)
    apply_norm(net, norm)
    return Backbone(net, placement, notes, folded=norm == "frozen" and fold_frozen(net))


def shallow_backbone(model: ModelConfig, norm: str | None = None) -> Backbone:
    """The first stages of the backbone that an experiment asks for, up to 1/8 of the image, for use as they are.

    No batch statistics move in it (`shallow_norm`).  `norm`: what a checkpoint was built with, which is to fill it.
    """
    return build_backbone(
        model.backbone, pretrained=model.pretrained, weights=model.weights, norm=norm or shallow_norm(model),
        stride_on=model.stride_on, shallow=True,
    )  # fmt: skip


def shallow_norm(model: ModelConfig) -> str:
    """Statistics of pretrained weights are frozen; without any there is group norm."""
    return "frozen" if model.pretrained or model.weights else "group"


def backbone_of(model: ModelConfig, *, plain: bool = False) -> Backbone:
    """The backbone that an experiment asks for.  `plain`: strided to the end, so without dilations and multi-grid."""
    backbone = _assemble(model, pretrained=model.pretrained, weights=model.weights, plain=plain)
    if not (model.pretrained or model.weights):
        _refuse_random_statistics(backbone)
    return backbone


def empty_backbone(model: ModelConfig, *, plain: bool = False) -> Backbone:
    """The same backbone for a checkpoint to fill: no weights are read or fetched."""
    return _assemble(model, pretrained=False, weights=None, plain=plain)


def _assemble(model: ModelConfig, *, pretrained: bool, weights: Path | None, plain: bool) -> Backbone:
    return build_backbone(
        model.backbone,
        pretrained=pretrained,
        weights=weights,
        multi_grid=None if plain else model.multi_grid,
        norm=model.norm,
        stride_on=model.stride_on,
        output_stride=PLAIN_STRIDE if plain else OUTPUT_STRIDE,
    )


def _create(name: str, output_stride: int, fetch: bool, shallow: bool = False) -> nn.Module:
    create = partial(timm.create_model, name, features_only=True, output_stride=output_stride)
    if shallow:
        with torch.device("meta"):
            reductions: list[int] = create(pretrained=False).feature_info.reduction()  # type: ignore[operator,union-attr]
        create = partial(create, out_indices=tuple(range(reductions.index(OUTPUT_STRIDE) + 1)))
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


def _refuse_random_statistics(backbone: Backbone) -> None:
    """Freezing the statistics of an untrained network (mean 0, variance 1) is no normalisation at all."""
    if any(isinstance(module, FrozenBatchNorm) for module in backbone.modules()):
        raise ConfigError(
            "model.norm: frozen needs the statistics of pretrained weights, and there are none; write "
            "`norm: group`, or ask for weights with `pretrained: true` or `weights: file.safetensors`."
        )


def _classification_names(name: str) -> frozenset[str]:
    """Names of all tensors of the whole classification network: what a file may hold beyond the features."""
    with torch.device("meta"):
        return frozenset(timm.create_model(name).state_dict())
