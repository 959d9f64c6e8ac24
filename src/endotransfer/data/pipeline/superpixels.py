"""Super-pixels of an image by SLIC.

The paper votes among the pixels of a super-pixel (Algorithm 2) and leaves SLIC's settings open.
"""

import numpy as np
from numpy.typing import NDArray
from skimage.segmentation import slic

from endotransfer.config import SuperpixelConfig

Regions = NDArray[np.int32]  # [H, W]: the number of each pixel's super-pixel


def segment_count(settings: SuperpixelConfig, height: int, width: int) -> int:
    """How many segments to ask for: scaled with the area, so that a segment keeps its size in pixels."""
    # PAPER: no settings are given.
    return max(1, round(settings.segments_at_512 * height * width / 512**2))


def compute_superpixels(image: NDArray[np.uint8], settings: SuperpixelConfig) -> Regions:
    """SLIC of `image` uint8 [H, W, 3]: int32 [H, W]; every region is 4-connected."""
    regions: NDArray[np.int64] = slic(
        image,
        n_segments=segment_count(settings, *image.shape[:2]),
        compactness=settings.compactness,
        enforce_connectivity=True,
        channel_axis=-1,
        start_label=0,
    )
    return regions.astype(np.int32)
