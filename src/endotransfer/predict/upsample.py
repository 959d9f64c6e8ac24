"""Bilinear resizing of a network's small maps as two matrix products, for predictors that do without torch.

Pixel i of H new ones looks at the old coordinate max((i + 1/2) h / H - 1/2, 0), between two old pixels of h: torch's
`interpolate(mode="bilinear", align_corners=False)`.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Maps = NDArray[np.float32]


def upsample(maps: Maps, size: tuple[int, int]) -> Maps:
    """[..., h, w] -> [..., H, W] for `size` = (H, W)."""
    height, width = maps.shape[-2:]
    wide = maps @ _weights(width, size[1]).T  # the width first: few rows are long then
    resized: Maps = _weights(height, size[0]) @ wide
    return resized


@lru_cache(maxsize=8)
def _weights(old: int, new: int) -> Maps:
    """[new, old]: how much of each old pixel every new one takes; rows sum to 1."""
    place = np.maximum((np.arange(new) + 0.5) * (old / new) - 0.5, 0)
    first = np.minimum(place.astype(np.intp), old - 1)
    share = place - first
    weights = np.zeros((new, old), np.float32)
    rows = np.arange(new)
    weights[rows, first] = 1 - share
    weights[rows, np.minimum(first + 1, old - 1)] += share
    return weights
