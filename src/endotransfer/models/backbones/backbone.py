"""The backbone: a timm feature extractor, dilated, plain or a pyramid; weights, stride and normalisation settled."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.config import ModelConfig
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.backbones.dilatable import OUTPUT_STRIDE, accepts_output_stride, require_model
from endotransfer.models.backbones.families import settled_model
from endotransfer.models.backbones.feature_net import PLAIN_STRIDE, classification_names, dilated_net, pyramid_net
from endotransfer.models.backbones.folding import fold_frozen
from endotransfer.models.backbones.multi_grid import set_multi_grid
from endotransfer.models.backbones.normalisation import FrozenBatchNorm, apply_norm
from endotransfer.models.backbones.pyramid_plan import channels_first
from endotransfer.models.backbones.stride_placement import move_stride_to_conv1, stride_placement
from endotransfer.models.backbones.weights_file import load_weights


class Backbone(nn.Module):
    """Normalised images [B, 3, H, W] -> feature maps [B, C, H / stride, W / stride] of all stages, shallow to deep."""

    stride_on_conv: Tensor

    def __init__(self, net: Any, stride_on: str, notes: list[str], *, folded: bool = False, multiple: int = 1) -> None:
        super().__init__()
        self.net = net
        self.multiple = multiple  # of what height and width of an image must be
        self.folded = folded  # no normalisation is left that would be slow with channels last in memory
        self.notes = notes  # how weights and stride were settled, for the log
        self.stages: tuple[int, ...] = tuple(net.feature_info.channels())
        self.channels = self.stages[-1]
        self.strides: tuple[int, ...] = tuple(net.feature_info.reduction())
        # The colours the weights were trained with: ImageNet's for nearly all of timm.
        self.mean: tuple[float, ...] = tuple(net.pretrained_cfg["mean"])
        self.std: tuple[float, ...] = tuple(net.pretrained_cfg["std"])
        # Part of the state: a checkpoint cannot be run with the stride elsewhere, though all its shapes would fit.
        self.register_buffer("stride_on_conv", torch.tensor(1 if stride_on == "conv1" else 2))
        self.stride_on = stride_on
        self.register_load_state_dict_post_hook(_follow_stride)  # type: ignore[no-untyped-call]

    def forward(self, images: Tensor) -> list[Tensor]:
        return [channels_first(self.net, one) for one in self.net(self.fitted(images))]

    def fitted(self, images: Tensor) -> Tensor:
        """Images at the nearest size that the network takes: itself, but for pyramids of an odd size.

        Resized, not padded: a map then covers the image and nothing else, whatever its stride.
        """
        size = self.fitted_size(images)
        if size == tuple(images.shape[-2:]):
            return images
        return interpolate(images, size=size, mode="bilinear", align_corners=False)

    def fitted_size(self, images: Tensor) -> tuple[int, int]:
        height, width = (max(1, round(side / self.multiple)) * self.multiple for side in images.shape[-2:])
        return height, width

    def require_maps(self, count: int, method: str) -> None:
        """Refuse a backbone of too few stages for `method`."""
        if len(self.stages) < count:
            raise ConfigError(
                f"method {method} looks at {count} maps of the backbone, and this one has {len(self.stages)}; choose a "
                "backbone of more stages, for example resnet50, or another method."
            )

    def grid(self, images: Tensor) -> tuple[int, int]:
        """Height and width of a map at 1/8 of `images`."""
        height, width = (-(-side // OUTPUT_STRIDE) for side in self.fitted_size(images))
        return height, width


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
    pyramid: bool = False,
    local_stride: int | None = None,
) -> Backbone:
    """Build the timm model `name`; a `weights` file goes before `pretrained`, which fetches from timm's hub.

    `pyramid`: with the strides of its family, in place of `output_stride`.  `local_stride`: nothing beyond the first
    map of that stride.
    """
    require_model(name)
    fetch, multiple = pretrained and weights is None, 1
    if pyramid:
        net, plan = pyramid_net(name, fetch=fetch, local_stride=local_stride)
        multiple = plan.multiple
    else:
        net = dilated_net(name, output_stride, fetch=fetch, local_stride=local_stride)
    notes = [load_weights(net, weights, classification_names(name))] if weights else []
    placement, why = stride_placement(stride_on, weights)
    if placement == "conv1":
        move_stride_to_conv1(net)
        notes.append(f"backbone: {why}")
    if multi_grid is not None:
        set_multi_grid(net, multi_grid)
    apply_norm(net, norm)
    return Backbone(net, placement, notes, folded=norm == "frozen" and fold_frozen(net), multiple=multiple)


def shallow_backbone(model: ModelConfig, norm: str | None = None) -> Backbone:
    """The first stages of the backbone that an experiment asks for, up to `local_stride`, for use as they are.

    No batch statistics move in it (`shallow_norm`).  `norm`: what a checkpoint was built with, which is to fill it.
    """
    stride = model.local_stride or OUTPUT_STRIDE
    return build_backbone(
        model.backbone, pretrained=model.pretrained, weights=model.weights, norm=norm or shallow_norm(model),
        stride_on=model.stride_on, pyramid=settled_model(model).head == "pyramid", local_stride=stride,
        output_stride=OUTPUT_STRIDE if stride <= OUTPUT_STRIDE else PLAIN_STRIDE,
    )  # fmt: skip


def shallow_norm(model: ModelConfig) -> str:
    """Statistics of pretrained weights are frozen; without any there is group norm."""
    return "frozen" if model.pretrained or model.weights else "group"


def backbone_of(model: ModelConfig, *, plain: bool = False) -> Backbone:
    """The backbone that an experiment asks for.  `plain`: strided to the end, so without dilations and multi-grid."""
    if model.start_from is not None:  # its weights come whole, from a trained model
        return empty_backbone(model, plain=plain)
    backbone = _assemble(model, pretrained=model.pretrained, weights=model.weights, plain=plain)
    if not (model.pretrained or model.weights):
        _refuse_random_statistics(backbone)
    return backbone


def empty_backbone(model: ModelConfig, *, plain: bool = False) -> Backbone:
    """The same backbone for a checkpoint to fill: no weights are read or fetched."""
    return _assemble(model, pretrained=False, weights=None, plain=plain)


def _assemble(model: ModelConfig, *, pretrained: bool, weights: Path | None, plain: bool) -> Backbone:
    require_model(model.backbone)
    model = settled_model(model)
    assert model.multi_grid != "auto"
    return build_backbone(
        model.backbone,
        pretrained=pretrained,
        weights=weights,
        multi_grid=None if plain else model.multi_grid,
        norm=model.norm,
        stride_on=model.stride_on,
        output_stride=PLAIN_STRIDE if plain else OUTPUT_STRIDE,
        pyramid=model.head == "pyramid" or (plain and not accepts_output_stride(model.backbone)),
    )


def _refuse_random_statistics(backbone: Backbone) -> None:
    """Freezing the statistics of an untrained network (mean 0, variance 1) is no normalisation at all."""
    if any(isinstance(module, FrozenBatchNorm) for module in backbone.modules()):
        raise ConfigError(
            "model.norm: frozen needs the statistics of pretrained weights, and there are none; write "
            "`norm: group`, or ask for weights with `pretrained: true` or `weights: file.safetensors`."
        )
