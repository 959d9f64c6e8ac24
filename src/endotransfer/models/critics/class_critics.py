"""A critic for each class: from which domain does this image's description of the class come?"""

from torch import Tensor, nn


class ClassCritics(nn.Module):
    """WeakSegDA's: class features [B, K, channels] -> logits [B, K] of "this is target".

    Each class has three layers of its own (channels, channels, 1) with ReLU between them.  Grouped convolutions run all
    classes at once; a group knows nothing of the others, and starts as a linear layer of its size does.
    """

    def __init__(self, classes: int, channels: int) -> None:
        super().__init__()
        wide = classes * channels
        self.layers = nn.Sequential(
            nn.Conv1d(wide, wide, 1, groups=classes), nn.ReLU(inplace=True),
            nn.Conv1d(wide, wide, 1, groups=classes), nn.ReLU(inplace=True),
            nn.Conv1d(wide, classes, 1, groups=classes),
        )  # fmt: skip

    def forward(self, features: Tensor) -> Tensor:
        logits: Tensor = self.layers(features.flatten(1).unsqueeze(2))
        return logits.squeeze(2)
