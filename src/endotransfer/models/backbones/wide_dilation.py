"""A widely dilated convolution as a plain one.

A dilation of 16 on a 32 x 32 map (the last block of a ResNet under multi-grid 1, 2, 4) finds no fast kernel on a GPU:
it took a tenth of a training step, and three quarters of one with channels last.  The pixels that such a convolution
joins lie on a lattice; cut the map into its lattices and each is a small map under an ordinary convolution.
"""

from torch import Tensor
from torch.nn.functional import conv2d, pad


def dilated_convolution(x: Tensor, weight: Tensor, bias: Tensor | None, dilation: int) -> Tensor:
    """conv2d(x, weight [O, C, 3, 3], bias, padding=dilation, dilation=dilation), x [B, C, H, W] -> [B, O, H, W]."""
    height, width = x.shape[-2:]
    # Zeros beyond the edge are what padding would have put there.
    whole = pad(x, (0, -width % dilation, 0, -height % dilation))
    parts = conv2d(_to_lattices(whole, dilation), weight, bias, padding=1)
    return _from_lattices(parts, dilation)[..., :height, :width]


def _to_lattices(x: Tensor, d: int) -> Tensor:
    """[B, C, h d, w d] -> [B d d, C, h, w]: one small map for each offset."""
    batch, channels, height, width = x.shape
    split = x.view(batch, channels, height // d, d, width // d, d)
    return split.permute(0, 3, 5, 1, 2, 4).reshape(batch * d * d, channels, height // d, width // d)


def _from_lattices(parts: Tensor, d: int) -> Tensor:
    """The inverse: [B d d, C, h, w] -> [B, C, h d, w d]."""
    count, channels, height, width = parts.shape
    split = parts.view(count // (d * d), d, d, channels, height, width)
    return split.permute(0, 3, 4, 1, 5, 2).reshape(-1, channels, height * d, width * d)
