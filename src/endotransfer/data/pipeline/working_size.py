"""Images and masks brought to another size.  Nothing here needs torch."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def resize_image(pixels: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """uint8 [h, w, 3] -> [H, W, 3], bilinear, averaging where it shrinks."""
    return _resize(pixels, size, Image.Resampling.BILINEAR)


def resize_mask(mask: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """uint8 [h, w] -> [H, W]: the value at each new pixel's centre."""
    return _resize(mask, size, Image.Resampling.NEAREST)


def _resize(pixels: NDArray[np.uint8], size: tuple[int, int], how: Image.Resampling) -> NDArray[np.uint8]:
    if pixels.shape[:2] == size:
        return pixels
    return np.array(Image.fromarray(pixels).resize(size[::-1], how))
