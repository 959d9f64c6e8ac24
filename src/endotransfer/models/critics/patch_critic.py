"""Critics of the compared systems: from which domain does this map come?"""

from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512, 1)


class SoftmaxCritic(nn.Module):
    """LtA's and ADVENT's D: maps [B, channels, H, W] -> logits [B, 1, H // 32, W // 32] of "this is target".

    Five convolutions, kernel 4, stride 2, padding 1, LeakyReLU 0.2 behind all but the last, no normalisation.  Each
    halves the map, so a side must have at least 32 pixels, as for the segmenter.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip((channels, *WIDTHS), WIDTHS, strict=False):
            layers += [nn.Conv2d(before, after, 4, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True)]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, maps: Tensor) -> Tensor:
        return self.layers(maps)
