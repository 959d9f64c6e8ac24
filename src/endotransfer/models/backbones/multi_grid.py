"""Multi-grid (DeepLab-v3): a different dilation for each block of a ResNet's last stage."""

from collections.abc import Iterator

from timm.models.resnet import BasicBlock, Bottleneck
from torch import nn

from endotransfer.errors import ConfigError


def set_multi_grid(net: nn.Module, grid: tuple[int, ...]) -> None:
    """Give block i of `net.layer4` the dilation base x grid[i mod len(grid)], in place.

    At output stride 8 the base is 4, so {1, 2, 4} makes the three bottlenecks of a ResNet-50 look 4, 8, 16 apart.
    """
    # PAPER: "three dilated convolutional filters with stride of {1, 2, 4}" leaves open whether these replace or
    # multiply the base; DeepLab-v3, which the paper builds on, multiplies.
    if not has_residual_blocks(net):
        raise ConfigError("model.multi_grid is for ResNets only, and this backbone is none; write `multi_grid: null`.")
    if not grid or min(grid) < 1:
        raise ConfigError(f"model.multi_grid {list(grid)} must hold numbers from 1 up, as in [1, 2, 4].")
    for index, block in enumerate(net.layer4):  # type: ignore[arg-type]
        for convolution in spatial_convolutions(block):
            set_dilation(convolution, block.dilation * grid[index % len(grid)])


def has_residual_blocks(net: nn.Module) -> bool:
    """Whether the last stage is a ResNet's."""
    blocks = list(getattr(net, "layer4", []))
    return bool(blocks) and all(isinstance(block, BasicBlock | Bottleneck) for block in blocks)


def spatial_convolutions(block: nn.Module) -> Iterator[nn.Conv2d]:
    """The 3x3 convolutions on a residual block's main path: one in a bottleneck, two in a basic block."""
    for name in ("conv1", "conv2", "conv3"):
        convolution = getattr(block, name, None)
        if isinstance(convolution, nn.Conv2d) and convolution.kernel_size == (3, 3):
            yield convolution


def set_dilation(convolution: nn.Conv2d, dilation: int) -> None:
    """Dilate a 3x3 convolution and pad it so that the size of the map stays."""
    convolution.dilation = convolution.padding = (dilation, dilation)
