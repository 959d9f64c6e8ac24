"""CycleGAN's two networks (Zhu, Park, Isola, Efros, ICCV 2017), at half the width: image translator and critic."""

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

DARKEST = 0.01  # what lies below (and above 1 - it) is moved there: the logit of 0 would be infinite


class Translator(nn.Module):
    """Images [B, 3, H, W] in [0, 1] -> images of the same shape in [0, 1]; any H and W from 32 up.

    A 7x7 convolution, two that halve, residual blocks, two that double, a 7x7 convolution; instance norm throughout.
    The result is ADDED to the image, on the scale of logits: the network starts next to the identity and stays within
    [0, 1], so that a few epochs are spent on how the domains differ and none on learning to copy.
    """

    def __init__(self, width: int = 32, blocks: int = 6) -> None:
        super().__init__()
        self.first = _layer(3, width, kernel=7)
        self.to_half = _layer(width, 2 * width, stride=2)
        self.to_quarter = _layer(2 * width, 4 * width, stride=2)
        self.blocks = nn.Sequential(*(_ResidualBlock(4 * width) for _ in range(blocks)))
        self.back_to_half = _layer(4 * width, 2 * width)
        self.back_to_full = _layer(2 * width, width)
        self.last = nn.Conv2d(width, 3, 7, padding=3, padding_mode="reflect")
        nn.init.normal_(self.last.weight, std=1e-3)
        nn.init.zeros_(self.last.bias)  # type: ignore[arg-type]

    def forward(self, images: Tensor) -> Tensor:
        full = self.first(2 * images - 1)
        half = self.to_half(full)
        inner = self.blocks(self.to_quarter(half))
        # Enlarged, then convolved: a transposed convolution would leave a chequered pattern for the critic to find.
        inner = self.back_to_half(interpolate(inner, size=half.shape[-2:]))
        change = self.last(self.back_to_full(interpolate(inner, size=full.shape[-2:])))
        return (images.clamp(DARKEST, 1 - DARKEST).logit() + change.to(images.dtype)).sigmoid()


class PatchCritic(nn.Module):
    """Images [B, 3, H, W] -> scores [B, 1, about H / 8, about W / 8], trained to 1 for real and 0 for translated ones.

    Four 4x4 convolutions and a fifth that scores overlapping patches, LeakyReLU 0.2.  Without CycleGAN's instance norm,
    which takes an image's mean colour away: that is the better part of what sets two endoscopes apart.
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for after, stride in ((width, 2), (2 * width, 2), (4 * width, 2), (8 * width, 1)):
            layers += [nn.Conv2d(before, after, 4, stride=stride, padding=1), nn.LeakyReLU(0.2, inplace=True)]
            before = after
        self.layers = nn.Sequential(*layers, nn.Conv2d(before, 1, 4, padding=1))

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(2 * images - 1)


class _ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _layer(channels, channels), _convolution(channels, channels), nn.InstanceNorm2d(channels)
        )  # fmt: skip

    def forward(self, features: Tensor) -> Tensor:
        return torch.add(features, self.layers(features))


def _layer(before: int, after: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        _convolution(before, after, kernel, stride), nn.InstanceNorm2d(after), nn.ReLU(inplace=True)
    )  # fmt: skip


def _convolution(before: int, after: int, kernel: int = 3, stride: int = 1) -> nn.Conv2d:
    """No bias: instance norm follows and would take it away."""
    return nn.Conv2d(before, after, kernel, stride, kernel // 2, padding_mode="reflect", bias=False)
