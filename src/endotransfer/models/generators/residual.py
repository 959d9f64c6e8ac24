"""The residual block of the compared systems' generators and critics."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

Norm = Callable[[int], nn.Module]
Padding = Literal["zeros", "reflect"]


class ResidualBlock(nn.Module):
    """x + g(x), maps [B, channels, h, w]: g is conv 3x3, norm, ReLU, conv 3x3, norm.  `norm` None leaves it out."""

    def __init__(self, channels: int, norm: Norm | None = None, *, padding: Padding = "zeros") -> None:
        super().__init__()
        first, second = (convolution(channels, channels, norm, padding=padding) for _ in range(2))
        self.layers = nn.Sequential(first, nn.ReLU(inplace=True), second)

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = x + self.layers(x)
        return changed


def convolution(
    before: int, after: int, norm: Norm | None = None, *, stride: int = 1, kernel: int = 3, padding: Padding = "zeros"
) -> nn.Sequential:
    """A convolution, normalised if asked for (then without a bias, which normalisation would take away)."""
    layer = nn.Conv2d(before, after, kernel, stride, kernel // 2, padding_mode=padding, bias=norm is None)
    return nn.Sequential(layer) if norm is None else nn.Sequential(layer, norm(after))
