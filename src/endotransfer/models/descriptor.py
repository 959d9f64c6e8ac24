"""What an image looks like, in the numbers of a network that is never trained."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from endotransfer.models.segmenters.segmenter import Segmenter


class FrozenFeatures(nn.Module):
    """Images [B, 3, H, W] in [0, 1] -> the last feature map [B, channels, h, w] of `segmenter`'s first backbone.

    A copy, so that training the segmenter leaves the features as they were.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, segmenter: Segmenter) -> None:
        super().__init__()
        self.register_buffer("mean", segmenter.mean.clone())
        self.register_buffer("std", segmenter.std.clone())
        self.backbone = deepcopy(segmenter.backbone).requires_grad_(False)
        self.channels = segmenter.backbone.channels
        self.train(False)

    def train(self, mode: bool = True) -> "FrozenFeatures":
        """Always in evaluation mode: running statistics stand still like everything else here."""
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.backbone((images - self.mean) / self.std)[-1]
        return features


class FrozenDescriptor(FrozenFeatures):
    """Images [B, 3, H, W] in [0, 1] -> the means [B, channels] of that map: what an image looks like as a whole."""

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        return super().forward(images).to(self.mean.dtype).mean(dim=(2, 3))
