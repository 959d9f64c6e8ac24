"""S2 as DeepLab-v3 or DeepLab-v2 has it, or on a pyramid: a body on the backbone's maps, a classifier of its pixels."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from endotransfer.config import ModelConfig
from endotransfer.models.heads import ASPP
from endotransfer.models.pyramid import Pyramid


class NoBody(nn.Module):
    """DeepLab-v2 classifies the backbone's own features."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, features: Tensor) -> Tensor:
        return features


class DilatedClassifiers(nn.Module):
    """DeepLab-v2's ASPP: one dilated 3x3 classifier for each rate, summed: [B, C, h, w] -> [B, K, h, w]."""

    def __init__(self, channels: int, classes: int, rates: tuple[int, ...]) -> None:
        super().__init__()
        self.out_channels = classes
        self.views = nn.ModuleList([nn.Conv2d(channels, classes, 3, padding=rate, dilation=rate) for rate in rates])
        for view in self.views:
            assert isinstance(view, nn.Conv2d) and view.bias is not None
            nn.init.normal_(view.weight, std=0.01)
            nn.init.zeros_(view.bias)

    def forward(self, features: Tensor) -> Tensor:
        return torch.stack([view(features) for view in self.views]).sum(0)


def pixel_head(
    model: ModelConfig, stages: Sequence[int], strides: Sequence[int], classes: int
) -> tuple[ASPP | NoBody | Pyramid, nn.Conv2d | DilatedClassifiers]:
    """(body, classifier) on maps of `stages` channels at `strides`; `model` is settled."""
    if model.head == "deeplab_v2":
        return NoBody(stages[-1]), DilatedClassifiers(stages[-1], classes, model.aspp_rates)
    body: ASPP | Pyramid
    if model.head == "pyramid":
        body = Pyramid(stages, strides, model.aspp_channels, model.norm, model.dropout)
    else:
        body = ASPP(stages[-1], model.aspp_channels, model.aspp_rates, model.norm, model.dropout)
    return body, nn.Conv2d(body.channels, classes, 1)


def seen_by(body: nn.Module, maps: list[Tensor]) -> Tensor:
    """What `body` makes of the maps of all stages: a pyramid joins them, the others look at the last."""
    seen: Tensor = body(maps if isinstance(body, Pyramid) else maps[-1])
    return seen
