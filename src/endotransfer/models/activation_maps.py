"""Class activation maps: where in an image S1 finds what makes it say lesion.

S1 is the mean over the backbone's last map and one linear layer; both may change places, so that the layer, applied
cell by cell, gives a map of which S1's answer is the mean (Zhou, Khosla, Lapedriza, Oliva, Torralba, CVPR 2016).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, NORMAL, at_least_float32
from endotransfer.models.heads import TagHead

FLAT = 1e-5  # a map that varies less than this shows nothing


def lesion_activation(tag_head: TagHead, features: Tensor) -> Tensor:
    """S1's log-odds of a lesion, cell by cell: features [B, C, h, w] -> [B, h, w]; its mean is that of the image."""
    weight, bias = tag_head.linear.weight, tag_head.linear.bias
    by_cell = torch.einsum("bchw,c->bhw", features, weight[LESION] - weight[NORMAL])
    return at_least_float32(by_cell) + (bias[LESION] - bias[NORMAL])


def normalised(activation: Tensor) -> Tensor:
    """(a - min a) / (max a - min a) with a = relu(activation), image by image: [B, h, w], from 0 to 1.

    An image without positive activation, or with the same everywhere, is 0 throughout.
    """
    positive = at_least_float32(activation).relu()
    low, high = positive.amin((1, 2), keepdim=True), positive.amax((1, 2), keepdim=True)
    return (positive - low) / (high - low).clamp(min=FLAT)


def activation_over_scales(activation: Callable[[Tensor], Tensor], images: Tensor, scales: Sequence[float]) -> Tensor:
    """The mean over `scales` and both orientations of relu(activation), at the images' size.

    Images [B, 3, H, W] -> [B, H, W].  What one size of a lesion hides, another may show.
    """
    maps = []
    for scale in scales:
        sized = rescaled(images, scale)
        both = activation(torch.cat([sized, sized.flip(-1)])).relu()
        upright, mirrored = both.chunk(2)
        maps.append(_at((upright + mirrored.flip(-1)) / 2, images.shape[-2:]))
    return torch.stack(maps).mean(0)


def rescaled(images: Tensor, scale: float) -> Tensor:
    """Images [B, 3, H, W] at `scale` times their size."""
    height, width = (max(1, round(scale * side)) for side in images.shape[-2:])
    return interpolate(images, size=(height, width), mode="bilinear", align_corners=False)


def _at(maps: Tensor, size: torch.Size) -> Tensor:
    """Maps [B, h, w] at another size."""
    return interpolate(maps[:, None], size=tuple(size), mode="bilinear", align_corners=False).squeeze(1)
