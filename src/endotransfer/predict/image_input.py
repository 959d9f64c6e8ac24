"""Images as callers give them: a path, or RGB pixels; anything else is refused in one sentence that says what to do."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from endotransfer.data.read.read_image import read_image
from endotransfer.errors import ConfigError
from endotransfer.predict.prediction import Pixels

WANTED = "give a path, or RGB pixels uint8 [H, W, 3]"
ImageLike = Path | str | Pixels


def as_pixels(image: ImageLike) -> Pixels:
    """RGB pixels uint8 [H, W, 3] of one image."""
    if isinstance(image, (str, Path)):
        return read_image(Path(image).expanduser())
    if isinstance(image, (list, tuple)):
        raise ConfigError(
            f"one image is predicted at a time, and this is a {type(image).__name__} of {len(image)}; use "
            "predict_batch for several, or predict_folder for a folder."
        )
    try:
        pixels = np.asarray(image)
    except (TypeError, ValueError):
        raise ConfigError(f"a {type(image).__name__} is no image; {WANTED}.") from None
    _check_shape(pixels)
    _check_kind(pixels)
    return np.ascontiguousarray(pixels, np.uint8)


def as_batch(images: Iterable[ImageLike]) -> list[Pixels]:
    """The same for several, each of its own size."""
    if isinstance(images, (str, Path)) or (isinstance(images, np.ndarray) and images.ndim < 4):
        raise ConfigError("predict_batch takes a list of images, and this is one; use predict, or put it into a list.")
    return [as_pixels(image) for image in images]


def _check_shape(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> None:
    shape = list(pixels.shape)
    if pixels.ndim == 3 and shape[2] == 3 and pixels.size:
        return
    if pixels.ndim == 2:
        fix = "it is grey: give np.stack([image] * 3, axis=-1)"
    elif pixels.ndim == 3 and shape[2] == 4:
        fix = "the fourth channel is transparency: give image[..., :3]"
    elif pixels.ndim == 3 and shape[0] == 3:
        fix = "channels come last: give image.transpose(1, 2, 0)"
    else:
        fix = WANTED
    raise ConfigError(f"the image has the shape {shape}, not [H, W, 3]; {fix}.")


def _check_kind(pixels: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> None:
    if pixels.dtype == np.uint8:
        return
    fix = WANTED
    if np.issubdtype(pixels.dtype, np.floating):
        fix = "if they are 0 to 1, give (255 * image).round().astype(np.uint8)"
    raise ConfigError(f"pixels are uint8 from 0 to 255, and these are {pixels.dtype}; {fix}.")
