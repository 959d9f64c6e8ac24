"""LSD's two networks beside the segmenter: features back to an image, and a critic of images with two heads."""

from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.models.generators.residual import Norm, ResidualBlock, convolution

BLOCKS = 2  # residual blocks of a stage
_norm: Norm = partial(nn.InstanceNorm2d, affine=True)


class ImageDecoder(nn.Module):
    """G: features [B, channels, H / 8, W / 8] -> images [B, 3, *size] in [0, 1].

    `width` is the recipe's 256: stages of 512, 256, 128 and 64 channels, each of two residual blocks; the first keeps
    the map's size, each further one doubles it by a transposed convolution.  InstanceNorm throughout.
    """

    def __init__(self, channels: int, width: int = 256) -> None:
        super().__init__()
        widths = [2 * width, width, max(width // 2, 1), max(width // 4, 1)]
        stages = [_stage(convolution(channels, widths[0], _norm), widths[0])]
        stages += [_stage(_doubling(before, after), after) for before, after in pairwise(widths)]
        self.layers = nn.Sequential(*stages, nn.Conv2d(widths[-1], 3, 3, padding=1), nn.Sigmoid())

    def forward(self, features: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
        images: Tensor = self.layers(features)
        if images.shape[-2:] != tuple(size):  # sides that are no multiple of 8
            images = interpolate(images, size=tuple(size), mode="bilinear", align_corners=False)
        return images


class ReconstructionCritic(nn.Module):
    """D: images [B, 3, H, W] in [0, 1] -> logits of provenance [B, cases, h, w] and of classes [B, K, h, w].

    h and w are an eighth, rounded up: three convolutions of stride 2, residual blocks, two 1x1 heads.  Not normalised:
    InstanceNorm would take away an image's mean colour, by which domains differ most.
    """

    def __init__(self, cases: int, classes: int, width: int = 128, blocks: int = 3) -> None:
        super().__init__()
        down: list[nn.Module] = []
        for before in (3, width, width):
            down += [convolution(before, width, stride=2), nn.LeakyReLU(0.2, inplace=True)]
        self.body = nn.Sequential(*down, *(ResidualBlock(width) for _ in range(blocks)), nn.LeakyReLU(0.2))
        self.provenance = nn.Conv2d(width, cases, 1)
        self.classes = nn.Conv2d(width, classes, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.body(2 * images - 1)
        return self.provenance(seen), self.classes(seen)


def _stage(entry: nn.Module, channels: int) -> nn.Sequential:
    return nn.Sequential(entry, nn.ReLU(inplace=True), *(ResidualBlock(channels, _norm) for _ in range(BLOCKS)))


def _doubling(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.ConvTranspose2d(before, after, 4, stride=2, padding=1, bias=False), _norm(after))
