"""The body of S2 for backbones whose stages keep their own strides: all of their maps, joined at 1/8 of the image."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.models.backbones.dilatable import OUTPUT_STRIDE
from endotransfer.models.heads import conv_layer

FINEST = 4  # the stride of the finest map that takes part


class Pyramid(nn.Module):
    """Maps [B, C, H / stride, W / stride], shallow to deep -> [B, channels, H / 8, W / 8].

    Each map goes to `channels` by a 1x1 convolution and to 1/8 of the image; their sum goes through two 3x3
    convolutions.
    """

    def __init__(
        self,
        stages: Sequence[int],
        strides: Sequence[int],
        channels: int = 256,
        norm: str = "group",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.channels = channels
        used = [(stage, stride) for stage, stride in zip(stages, strides, strict=True) if stride >= FINEST]
        self.finest = used[0][1]
        self.laterals = nn.ModuleList([nn.Conv2d(stage, channels, 1) for stage, _ in used])
        self.smooth = nn.Sequential(*(conv_layer(channels, channels, norm, dilation=1) for _ in range(2)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, maps: Sequence[Tensor]) -> Tensor:
        used = maps[-len(self.laterals) :]
        size = [-(-side * self.finest // OUTPUT_STRIDE) for side in used[0].shape[-2:]]
        projected = [lateral(one) for lateral, one in zip(self.laterals, used, strict=True)]
        joined = torch.stack([at_size(one, size) for one in projected]).sum(0)
        seen: Tensor = self.dropout(self.smooth(joined))
        return seen


def at_size(features: Tensor, size: Sequence[int]) -> Tensor:
    """Features [B, C, h, w] bilinearly at another height and width."""
    if tuple(features.shape[-2:]) == tuple(size):
        return features
    return interpolate(features, size=tuple(size), mode="bilinear", align_corners=False)
