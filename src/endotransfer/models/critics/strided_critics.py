"""Critics that look at whole maps or images, by strided convolutions: from which domain does this come?"""

from itertools import pairwise

from torch import Tensor, nn


class Discriminator(nn.Module):
    """The paper's D: class probabilities [B, K, H, W] -> logits [B, 1, H / 32, W / 32] of "this is target", rounded up.

    Five convolutions, kernel 3, stride 2, LeakyReLU 0.2 behind all but the last; no size is too small.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = _halving((classes, 16, 32, 64, 64, 1), kernel=3)

    def forward(self, probabilities: Tensor) -> Tensor:
        logits: Tensor = self.layers(probabilities)
        return logits


class SoftmaxCritic(nn.Module):
    """LtA's and ADVENT's D: maps [B, channels, H, W] -> logits [B, 1, H // 32, W // 32] of "this is target".

    Five convolutions, kernel 4, stride 2, padding 1, LeakyReLU 0.2 behind all but the last, no normalisation.  Each
    halves the map, so a side must have at least 32 pixels, as for the segmenter.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = _halving((channels, 64, 128, 256, 512, 1), kernel=4)

    def forward(self, maps: Tensor) -> Tensor:
        logits: Tensor = self.layers(maps)
        return logits


class PatchCritic(nn.Module):
    """CycleGAN's: images [B, 3, H, W] -> scores [B, 1, about H / 8, about W / 8], 1 for real and 0 for translated ones.

    Four 4x4 convolutions and a fifth that scores overlapping patches, LeakyReLU 0.2.  Without CycleGAN's instance norm,
    which takes an image's mean colour away: that is the better part of what sets two endoscopes apart.
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        halving = _halving((3, width, 2 * width, 4 * width), kernel=4)
        self.layers = nn.Sequential(
            *halving, nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(4 * width, 8 * width, 4, padding=1), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(8 * width, 1, 4, padding=1),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.layers(2 * images - 1)
        return scores


def _halving(widths: tuple[int, ...], kernel: int) -> nn.Sequential:
    """Convolutions of stride 2 through `widths` channels, LeakyReLU 0.2 between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2d(before, after, kernel, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*layers[:-1])
