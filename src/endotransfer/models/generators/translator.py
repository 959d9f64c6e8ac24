"""CycleGAN's image translator (Zhu, Park, Isola, Efros, ICCV 2017), at half the width."""

from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.models.generators.residual import ResidualBlock, convolution

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
        self.blocks = nn.Sequential(
            *(ResidualBlock(4 * width, nn.InstanceNorm2d, padding="reflect") for _ in range(blocks))
        )
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
        change: Tensor = self.last(self.back_to_full(interpolate(inner, size=full.shape[-2:])))
        return (images.clamp(DARKEST, 1 - DARKEST).logit() + change.to(images.dtype)).sigmoid()


def _layer(before: int, after: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    layer = convolution(before, after, nn.InstanceNorm2d, stride=stride, kernel=kernel, padding="reflect")
    return nn.Sequential(layer, nn.ReLU(inplace=True))
