"""What can be told of a picture without any network: light, sharpness, noise and colour, as thirteen numbers."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIGNS = (
    "dark", "middle", "bright",  # the 10th, 50th and 90th percentile of brightness, 0 to 1
    "contrast",  # logarithm of the variance of brightness
    "fine", "coarse",  # logarithm of the energy of edges, at this size and at half of it
    "grain",  # fine less coarse: noise has it, lenses do not
    "red", "yellow",  # mean of red less green, of green less blue
    "red_spread", "yellow_spread",  # logarithms of the deviations of these
    "black", "white",  # roots of the shares of pixels that are one or the other
)  # fmt: skip
LONGEST = 256  # side of the copy that is looked at: what a person would call blurred is blurred there as well
Looked = NDArray[np.uint8]  # [H, W, 3]


def looked_size(seen: tuple[int, int] | None) -> tuple[int, int]:
    """(H, W) of the copy that is looked at."""
    if seen is None:
        return LONGEST, LONGEST
    factor = min(1.0, LONGEST / max(seen))
    return max(4, round(seen[0] * factor)), max(4, round(seen[1] * factor))


def image_signs(pixels: Looked, seen: tuple[int, int] | None) -> NDArray[np.float64]:
    """uint8 [H, W, 3] of any size -> the numbers in the order of SIGNS, of the copy that the network sees, or smaller.

    `seen` = (h, w): at which the network sees images; None: at their own.
    """
    for size in (seen or pixels.shape[:2], looked_size(seen)):
        if pixels.shape[:2] != size:
            pixels = np.asarray(Image.fromarray(pixels).resize((size[1], size[0]), Image.Resampling.BILINEAR))
    red, green, blue = (pixels[..., channel].astype(np.float32) / 255 for channel in range(3))
    light = ((red + 2 * green + blue) / 4).astype(np.float32)
    fine, coarse = _edges(light), _edges(_halved(light))
    return np.array(
        [
            *np.quantile(light, [0.1, 0.5, 0.9]),
            np.log(light.var(dtype=np.float64) + 1e-5),
            fine,
            coarse,
            fine - coarse,
            (red - green).mean(dtype=np.float64),
            (green - blue).mean(dtype=np.float64),
            np.log((red - green).std(dtype=np.float64) + 1e-3),
            np.log((green - blue).std(dtype=np.float64) + 1e-3),
            np.sqrt((light < 0.05).mean()),
            np.sqrt((light > 0.95).mean()),
        ],
        np.float64,
    )


def _edges(light: NDArray[np.float32]) -> float:
    """Logarithm of the mean squared Laplacian [H, W]."""
    inner = light[1:-1, 1:-1]
    around = light[:-2, 1:-1] + light[2:, 1:-1] + light[1:-1, :-2] + light[1:-1, 2:]
    return float(np.log(np.square(4 * inner - around).mean(dtype=np.float64) + 1e-6)) if inner.size else np.log(1e-6)


def _halved(light: NDArray[np.float32]) -> NDArray[np.float32]:
    """Means of 2 x 2 pixels; an odd row or column at the end is left out."""
    height, width = (side // 2 for side in light.shape)
    halved: NDArray[np.float32] = light[: 2 * height, : 2 * width].reshape(height, 2, width, 2).mean((1, 3))
    return halved
