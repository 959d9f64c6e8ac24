"""DFN's building blocks: refinement residual block, channel attention block, and the head behind them."""

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.models.backbones.normalisation import MOST_GROUPS, groups_of, head_norm


class RefinementBlock(nn.Module):
    """RRB: a 1x1 convolution to `channels`, then two 3x3 ones as a residual: [B, in, h, w] -> [B, channels, h, w]."""

    def __init__(self, in_channels: int, channels: int, norm: str, *, last_relu: bool = True) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(in_channels, channels, 1)
        self.residual = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            _norm(norm, channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1),
        )
        self.activation = nn.ReLU(inplace=True) if last_relu else nn.Identity()

    def forward(self, features: Tensor) -> Tensor:
        reduced = self.reduce(features)
        refined: Tensor = self.activation(reduced + self.residual(reduced))
        return refined


class ChannelAttention(nn.Module):
    """CAB: the deeper map says which channels of the shallower matter; both and the result are [B, channels, h, w]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2 * channels, channels), nn.ReLU(inplace=True), nn.Linear(channels, channels)
        )

    def weights(self, low: Tensor, high: Tensor) -> Tensor:
        """How much each channel of `low` counts, 0 to 1: [B, channels]."""
        weights: Tensor = self.layers(torch.cat([low, high], dim=1).mean((2, 3))).sigmoid()
        return weights

    def forward(self, low: Tensor, high: Tensor) -> Tensor:
        return low * self.weights(low, high)[:, :, None, None] + high


class Head(nn.Sequential):
    """An RRB to nine channels for each class, without its last ReLU, and a 1x1 convolution to the classes."""

    def __init__(self, in_channels: int, classes: int, norm: str) -> None:
        super().__init__(
            RefinementBlock(in_channels, 9 * classes, norm, last_relu=False), nn.Conv2d(9 * classes, classes, 1)
        )


def _norm(kind: str, channels: int) -> nn.Module:
    """A head's normalisation; GroupNorm with four channels to a group, as the deepest map may be a single pixel."""
    layer = head_norm(kind, channels)
    groups = groups_of(channels, min(MOST_GROUPS, max(1, channels // 4)))
    return nn.GroupNorm(groups, channels) if isinstance(layer, nn.GroupNorm) else layer


def resized(features: Tensor, like: Tensor) -> Tensor:
    """`features` bilinearly at the height and width of `like`."""
    return interpolate(features, size=like.shape[-2:], mode="bilinear", align_corners=False)
