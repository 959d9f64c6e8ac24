"""Where a bottleneck ResNet halves its map: in the 3x3 `conv2` (usual) or the 1x1 `conv1` (the Caffe release).

Weights fit the placement they were trained with; with the other one they lose much of their accuracy.
"""

from pathlib import Path

from timm.models.resnet import Bottleneck
from torch import nn

from endotransfer.errors import ConfigError
from endotransfer.models.backbones.multi_grid import set_dilation
from endotransfer.models.backbones.weights_file import read_metadata


def stride_placement(stride_on: str, weights: Path | None) -> tuple[str, str]:
    """Resolve `model.stride_on` to "conv1" or "conv2", with a note that says why.

    "auto" asks the weights file: its metadata (`stride_placement`, or `arch` naming Caffe), then its name.
    """
    if stride_on in ("conv1", "conv2"):
        return stride_on, f"stride on {stride_on}, as model.stride_on says"
    if stride_on != "auto":
        raise ConfigError(f"model.stride_on '{stride_on}' is unknown; write auto, conv1 or conv2.")
    if weights is None:
        return "conv2", "stride on conv2, the usual placement"
    metadata = read_metadata(weights)
    stated = metadata.get("stride_placement", "")
    if stated in ("conv1", "conv2"):
        return stated, f"stride on {stated}, as the metadata of {weights.name} say"
    if "caffe" in metadata.get("arch", "").lower() or "caffe" in weights.name.lower():
        return "conv1", f"stride on conv1, because {weights.name} is of the Caffe kind"
    return "conv2", f"stride on conv2, because nothing in {weights.name} says otherwise"


def move_stride_to_conv1(net: nn.Module) -> None:
    """Move every bottleneck's stride from `conv2` to `conv1`, in place; once moved, nothing changes any more.

    Where output stride 8 has turned the stride into a dilation, the map ahead of `conv2` would have been halved
    already: the first block's `conv2` then takes its own stage's dilation, not that of the stage before.
    """
    blocks = [module for module in net.modules() if isinstance(module, Bottleneck)]
    if not blocks or not all(isinstance(block.aa, nn.Identity) for block in blocks):
        raise ConfigError(
            "model.stride_on: conv1 is for plain bottleneck ResNets such as resnet50; write `stride_on: conv2`."
        )
    for block in blocks:
        if block.conv2.stride != (1, 1):
            block.conv1.stride, block.conv2.stride = block.conv2.stride, (1, 1)
        if block.conv2.dilation[0] < block.dilation:  # multi-grid may have gone further
            set_dilation(block.conv2, block.dilation)
