"""From whatever pixels a mask file holds to one value a pixel."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.decode import LOSSY, Decoded

_GREY_TOLERANCE = 12  # JPEG stores colour apart from brightness, so copies of grey differ by a little
_LOSSY_BLACK = 63  # in a compressed colour mask, anything up to here may be noise on black
# Of 1,058 photographs of four public sets all but a few dark ones have less than 0.75 in their eight commonest colours;
# masks drawn in three colours keep more than 0.95, even as coarse JPEG.
_DRAWN_COLOURS = 8  # of 4,096
_DRAWN_SHARE = 0.85

Values = NDArray[np.integer]


def single_channel(decoded: Decoded, binary: bool, path: Path) -> tuple[Values, list[str]]:
    """Values [H, W], 0 to 255 where that can be, and what was done to get them."""
    image, notes = decoded.image, list[str]()
    if image.mode in ("RGBA", "LA", "RGBa", "La", "PA"):
        image, alpha, said = _without_alpha(image)
        notes.append(said)
        if alpha is not None:
            return alpha, notes
    values, more = _values(image, binary, decoded.format in LOSSY, path)
    return values, notes + more


def _values(image: Image.Image, binary: bool, lossy: bool, path: Path) -> tuple[Values, list[str]]:
    """The values of an image without alpha, by the kind of its pixels."""
    if image.mode == "P":
        return _palette(image, binary)
    if image.mode in ("1", "L"):
        return np.asarray(image).astype(np.uint8), []
    if image.mode == "I" or image.mode.startswith("I;"):
        return _wide(np.asarray(image), binary, path)
    if image.mode == "F":
        raise failure("float-mask", path, "holds decimal numbers instead of classes", "save it as 8-bit PNG")
    return _colour(np.asarray(image.convert("RGB")), binary, lossy, path)


def _without_alpha(image: Image.Image) -> tuple[Image.Image, Values | None, str]:
    """Opaque everywhere: no alpha.  Flat colour under a varying alpha: alpha is the drawing.  Else: both."""
    rgba = np.asarray(image.convert("RGBA"))
    colour, alpha = rgba[..., :3], rgba[..., 3]
    if alpha.min() == alpha.max():
        return Image.fromarray(np.ascontiguousarray(colour)), None, "the constant alpha channel was left out"
    if (colour == colour[0, 0]).all():
        return image, alpha, "the alpha channel was used, since the colour is the same everywhere"
    drawn = colour * (alpha >= 128)[..., None].astype(np.uint8)
    return Image.fromarray(drawn), None, "pixels less than half opaque were read as background"


def _palette(image: Image.Image, binary: bool) -> tuple[Values, list[str]]:
    """Index values; but where two greys stand for a drawing (often white first), the greys themselves."""
    index = np.asarray(image)
    colours = np.asarray(image.getpalette("RGB"), np.uint8).reshape(-1, 3)
    used = np.unique(index)
    used = used[used < len(colours)]
    grey = bool((np.ptp(colours[used].astype(int), axis=1) == 0).all())
    if binary and grey and not np.array_equal(colours[used, 0], used):
        table = np.zeros(256, np.uint8)
        table[: len(colours)] = colours[:, 0]
        return table[index], ["the grey levels of the palette were used instead of its index values"]
    return index, [] if grey else ["the index values of the colour palette were used"]


def _wide(values: NDArray[np.generic], binary: bool, path: Path) -> tuple[Values, list[str]]:
    wide = values.astype(np.int64)
    low, high = int(wide.min()), int(wide.max())
    if low < 0 or high > 65535:
        raise failure("wide-mask", path, f"holds values from {low} to {high}", "save it as 8-bit PNG")
    if high <= 255:
        return wide, ["16-bit values up to 255 were kept as they are"]
    if not (wide % 257).any():
        return wide // 257, ["16-bit values were divided by 257"]
    if not binary:  # scaling would invent class numbers; as they are, the wrong one gets named
        return wide, []
    return wide >> 8, ["16-bit values were cut to their upper 8 bits"]


def _colour(rgb: NDArray[np.uint8], binary: bool, lossy: bool, path: Path) -> tuple[Values, list[str]]:
    spread = rgb.max(axis=2) - rgb.min(axis=2)
    if spread.max() <= (_GREY_TOLERANCE if lossy else 0):
        return rgb[..., 1], ["three equal colour channels were read as one"]
    if not binary:
        fix = "save the mask with one class number for each pixel"
        raise failure("colour-mask", path, "is drawn in colours, which name no classes", fix)
    if _like_photograph(rgb):
        what, fix = "looks like a photograph, not like a drawn mask", "put the drawn mask there"
        raise failure("photograph-mask", path, what, fix)
    drawn = rgb.max(axis=2) > (_LOSSY_BLACK if lossy else 0)
    return drawn.astype(np.uint8), ["colours were read as lesion, black as normal"]


def _like_photograph(rgb: NDArray[np.uint8]) -> bool:
    """Whether colours [H, W, 3] spread as only those of a photograph do: a drawing has a few, however compressed."""
    coarse = (rgb >> 4).astype(np.int32)
    counts = np.bincount((coarse[..., 0] << 8 | coarse[..., 1] << 4 | coarse[..., 2]).ravel(), minlength=4096)
    return bool(np.sort(counts)[-_DRAWN_COLOURS:].sum() < _DRAWN_SHARE * counts.sum())
