"""CGAN's generator: what must be added to a source image's low-level features to make them a target image's."""

import torch
from torch import Tensor, nn

from endotransfer.models.backbones.normalisation import groups_of
from endotransfer.models.generators.residual import ResidualBlock, convolution


class FeatureGenerator(nn.Module):
    """x + G(x, z): features x [B, channels, h, w] and noise z [B, 1, h, w] -> adapted features of x's shape.

    G: 3x3 convolution to `width` channels, `blocks` residual blocks, 3x3 convolution back.
    """

    def __init__(self, channels: int, width: int = 64, blocks: int = 8) -> None:
        super().__init__()
        body = [ResidualBlock(width, _norm) for _ in range(blocks)]
        self.enter = nn.Sequential(convolution(channels + 1, width), nn.ReLU(inplace=True))
        self.body = nn.Sequential(*body)
        self.leave = nn.Conv2d(width, channels, 3, padding=1)
        # Adaptation begins with nothing: the segmenter is never shown features that a random network has spoilt.
        nn.init.zeros_(self.leave.weight)
        assert self.leave.bias is not None
        nn.init.zeros_(self.leave.bias)

    def forward(self, features: Tensor, noise: Tensor) -> Tensor:
        seen = torch.cat([features, noise.to(features.dtype)], dim=1)
        adapted: Tensor = features + self.leave(self.body(self.enter(seen)))
        return adapted


def _norm(channels: int) -> nn.Module:
    """In place of BatchNorm, which would couple the images of a batch."""
    return nn.GroupNorm(groups_of(channels), channels)
