"""CyCADA's critic of score maps: from which domain do the class scores at this cell come?"""

from torch import Tensor, nn


class ScoreCritic(nn.Module):
    """Class scores (logits) [B, K, h, w] -> logits [B, 1, h, w] of "this is target", each cell by itself.

    1x1 convolutions K-512-256-2, dropout of whole channels and ReLU between them.  Two-way cross-entropy sees only the
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
        source, target = self.layers(scores).split(1, dim=1)
        return target - source
