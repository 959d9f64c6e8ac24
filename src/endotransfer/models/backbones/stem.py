"""A segmenter in two halves: from images to low-level features, and from those to the output.

timm's feature networks are chains of layers.  The cut is before the stage whose map is a quarter of the image: behind
the max-pooling of a ResNet (64 channels, /4), the patches of a ConvNeXt (/4), the first stage of a MobileNet (/2).
"""

import copy

import torch
from timm.models._features import FeatureListNet
from timm.models.efficientnet import EfficientNetFeatures
from timm.models.mobilenetv3 import MobileNetV3Features
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.errors import ConfigError
from endotransfer.models.segmenters.segmenter import Segmenter

QUARTER = 4
SMALLEST = 32  # the side of the smallest image


def low_level(segmenter: Segmenter, images: Tensor, domain: str = "source") -> Tensor:
    """Images [B, 3, H, W] in [0, 1] -> low-level features [B, C, h, w]."""
    segmenter.enter(domain)
    stem, _ = halves(segmenter.backbone.net)
    return in_turn(stem, segmenter.backbone.fitted((images - segmenter.mean) / segmenter.std))[-1]


def from_low_level(segmenter: Segmenter, low: Tensor, domain: str = "source") -> SegOutput:
    """The rest of the way; with `low_level` before it, the segmenter itself."""
    segmenter.enter(domain)
    net = segmenter.backbone.net
    _, rest = halves(net)
    ends = stage_ends(net)
    maps = [one for layer, one in zip(rest, in_turn(rest, low), strict=True) if layer in ends]
    return segmenter.heads(maps)


@torch.no_grad()
def low_level_channels(segmenter: Segmenter) -> int:
    """How many channels low-level features have.  timm tells it for whole stages only, so a black image is sent."""
    stem, _ = halves(segmenter.backbone.net)
    still = [copy.deepcopy(layer).eval() for layer in stem]  # no statistics of the network itself may move
    size = max(SMALLEST, segmenter.backbone.multiple)
    return in_turn(still, torch.zeros(1, 3, size, size))[-1].shape[1]


def halves(net: nn.Module) -> tuple[list[nn.Module], list[nn.Module]]:
    """The layers before and from the stage at a quarter of the image, in the order in which they are used."""
    names, layers, stages = chain(net)
    reductions = net.feature_info.reduction()  # type: ignore[operator, union-attr]
    cut = names.index(next(name for name, by in zip(stages, reductions, strict=True) if by >= QUARTER))
    return layers[:cut], layers[cut : names.index(stages[-1]) + 1]


def chain(net: nn.Module) -> tuple[list[str], list[nn.Module], list[str]]:
    """Names of all layers, the layers, and the names of those that end a stage."""
    if isinstance(net, FeatureListNet) and net.output_fmt == "NCHW":  # a generator of features wants them first
        return list(net.keys()), list(net.values()), list(net.return_layers)
    if isinstance(net, EfficientNetFeatures | MobileNetV3Features):
        named = dict(net.named_children())
        blocks = named.pop("blocks")
        named |= {f"blocks.{name}": block for name, block in blocks.named_children()}
        return list(named), list(named.values()), list(net.feature_info.module_name())
    raise ConfigError(
        "model.backbone: this one is no chain of layers that could be cut behind its low-level features; choose a "
        "ResNet, ConvNeXt, RegNet, EfficientNet or MobileNet, for example resnet50."
    )


def stage_ends(net: nn.Module) -> list[nn.Module]:
    """The layers whose outputs are the network's feature maps."""
    names, layers, stages = chain(net)
    return [layer for name, layer in zip(names, layers, strict=True) if name in stages]


def in_turn(layers: list[nn.Module], x: Tensor) -> list[Tensor]:
    """What each layer makes of the output of the one before it."""
    outputs = []
    for layer in layers:
        x = layer(x)
        outputs.append(x)
    return outputs
