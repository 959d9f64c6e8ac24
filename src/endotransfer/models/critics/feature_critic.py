"""CGAN's critic: do these high-level features come from an adapted source image or from a target image?"""

from torch import Tensor, nn


class FeatureCritic(nn.Module):
    """Features [B, channels, h, w] -> logits [B, 1, h, w] of "this is target"; each cell is judged by itself.

    Three fully connected layers, as 1x1 convolutions: width, width, 1, LeakyReLU 0.2 behind the first two.
    """

    def __init__(self, channels: int, width: int = 512) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, width, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, width, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, features: Tensor) -> Tensor:
        return self.layers(features)
