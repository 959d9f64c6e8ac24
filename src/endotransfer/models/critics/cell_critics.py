"""Critics that look at each cell of a map by itself, by 1x1 convolutions: from which domain does this cell come?"""

from torch import Tensor, nn

WIDTH = 1024
SPREAD = 1e-3  # standard deviation of the first weights
DROPOUT = 0.5


class CellCritic(nn.Module):
    """NMD's and FCNs in the Wild's: features [B, channels, h, w] -> logits [B, out, h, w].

    Three convolutions (1024, 1024, out) with ReLU and, unless switched off, dropout 0.5 behind the first two.
    """

    def __init__(self, channels: int, out: int = 2, *, dropout: bool = True) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before in (channels, WIDTH):
            layers += [nn.Conv2d(before, WIDTH, 1), nn.ReLU(inplace=True), nn.Dropout(DROPOUT if dropout else 0.0)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(WIDTH, out, 1))
        for layer in self.layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=SPREAD)
                assert layer.bias is not None
                nn.init.zeros_(layer.bias)

    def forward(self, features: Tensor) -> Tensor:
        logits: Tensor = self.layers(features)
        return logits


class FeatureCritic(nn.Module):
    """CGAN's: features [B, channels, h, w] -> logits [B, 1, h, w] of "this is target", not of adapted source.

    Three convolutions (width, width, 1), LeakyReLU 0.2 behind the first two.
    """

    def __init__(self, channels: int, width: int = 512) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before in (channels, width):
            layers += [nn.Conv2d(before, width, 1), nn.LeakyReLU(0.2, inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, 1, 1))

    def forward(self, features: Tensor) -> Tensor:
        logits: Tensor = self.layers(features)
        return logits


class ScoreCritic(nn.Module):
    """CyCADA's: class scores (logits) [B, K, h, w] -> logits [B, 1, h, w] of "this is target".

    Convolutions K-512-256-2, dropout of whole channels and ReLU between them.  Two-way cross-entropy sees only the
    difference of the last two channels, so that is what is returned.
    """

    def __init__(self, classes: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(classes, 512, 1), nn.Dropout2d(dropout), nn.ReLU(inplace=True),
            nn.Conv2d(512, 256, 1), nn.Dropout2d(dropout), nn.ReLU(inplace=True),
            nn.Conv2d(256, 2, 1),
        )  # fmt: skip

    def forward(self, scores: Tensor) -> Tensor:
        logits: Tensor = self.layers(scores)
        return logits[:, 1:] - logits[:, :1]
