"""The critic of NMD and of FCNs in the Wild: from which domain does this cell of the features come?"""

from torch import Tensor, nn

WIDTH = 1024
SPREAD = 1e-3  # standard deviation of the first weights
DROPOUT = 0.5


class CellCritic(nn.Module):
    """Features [B, channels, h, w] -> logits [B, out, h, w]; each cell is judged by itself.

    Three 1x1 convolutions (1024, 1024, out) with ReLU and, unless switched off, dropout 0.5 behind the first two.
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
        return self.layers(features)
