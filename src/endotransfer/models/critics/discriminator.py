"""D of the paper: from which domain does this segmentation map come?"""

from torch import Tensor, nn

CHANNELS = (16, 32, 64, 64, 1)


class Discriminator(nn.Module):
    """Class probabilities [B, K, H, W] -> logits [B, 1, H / 32, W / 32] (rounded up) of "this is target".

    Five convolutions, kernel 3, stride 2, LeakyReLU 0.2 behind all but the last; no size is too small.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip((classes, *CHANNELS), CHANNELS, strict=False):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True)]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, probabilities: Tensor) -> Tensor:
        return self.layers(probabilities)
