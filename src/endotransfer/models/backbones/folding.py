"""A convolution and the frozen normalisation behind it as one operation.

Frozen statistics make normalisation a fixed scale and shift a channel, and scaling a convolution's output is scaling
its weights: one pass over the feature map instead of two, in training too (scale and shift still learn, through the
weights).  It spares a quarter of a training step's memory.
"""

from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from endotransfer.models.backbones.normalisation import FrozenBatchNorm
from endotransfer.models.backbones.wide_dilation import dilated_convolution

WIDE = 16  # a dilation from which cuDNN has no fast kernel
SETTINGS = (
    "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode",
)  # fmt: skip
# What follows what, in timm's ResNets and their blocks; elsewhere normalisation stays an operation of its own.
PAIRS = {"conv1": "bn1", "conv2": "bn2", "conv3": "bn3"}


class FoldedConvolution(nn.Conv2d):
    """y = conv(x, scale * weight) + shift, with scale and shift of `norm`, which then passes y on as it is."""

    norm: tuple[FrozenBatchNorm]  # in a tuple: its weights belong to the network it was found in, under their old name

    def forward(self, x: Tensor) -> Tensor:
        scale, shift = self.norm[0].scale_and_shift()
        if self.bias is not None:
            shift = shift + scale * self.bias
        weight = self.weight * scale.view(-1, 1, 1, 1)
        if x.is_cuda and self.is_wide:  # pragma: needs cuda
            return dilated_convolution(x, weight, shift, self.dilation[0])
        convolved: Tensor = self._conv_forward(x, weight, shift)
        return convolved

    @property
    def is_wide(self) -> bool:
        """Whether it is a 3x3 convolution that keeps the map's size under a dilation GPUs are slow at."""
        reach = self.dilation[0]
        same = self.dilation == self.padding == (reach, reach) and self.kernel_size == (3, 3)
        return reach >= WIDE and same and self.stride == (1, 1) and self.groups == 1


def fold_frozen(net: nn.Module) -> bool:
    """Fold every pair of `net` that is known to be one; returns whether no frozen normalisation is left over.

    Names and shapes of all weights stay what they were, so checkpoints do not know of it.
    """
    for parent in list(net.modules()):
        children = dict(parent.named_children())
        in_turn = list(children) if isinstance(parent, nn.Sequential) else []
        for conv, norm in [*PAIRS.items(), *pairwise(in_turn)]:
            second = children.get(norm)
            if isinstance(second, FrozenBatchNorm) and not second.folded:
                _fold(parent, conv, second)
    frozen = [module for module in net.modules() if isinstance(module, FrozenBatchNorm)]
    return bool(frozen) and all(module.folded for module in frozen)


def _fold(parent: nn.Module, name: str, norm: FrozenBatchNorm) -> None:
    """Fold `norm` into the child called `name`, or into the last layer of a deep stem of that name."""
    child = getattr(parent, name, None)
    if isinstance(child, nn.Sequential):
        parent, name = child, str(len(child) - 1)
        child = child[-1]
    if type(child) is nn.Conv2d:
        setattr(parent, name, _folded(child, norm))


def _folded(conv: nn.Conv2d, norm: FrozenBatchNorm) -> FoldedConvolution:
    settings: dict[str, Any] = {name: getattr(conv, name) for name in SETTINGS}
    new = FoldedConvolution(**settings, bias=conv.bias is not None, device="meta")
    new.weight, new.bias = conv.weight, conv.bias
    new.norm = (norm,)
    norm.folded = True
    return new
