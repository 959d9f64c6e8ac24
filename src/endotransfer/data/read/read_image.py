"""Read any image file as upright 8-bit RGB."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.decode import decode, read_header

_STRIP = 256  # rows
_SMALL = 4_000_000  # pixels, of which a few copies do no harm
_DEPTHS = (8, 10, 12, 14, 16)  # bits that cameras deliver inside a 16-bit file


@dataclass(frozen=True)
class ImageReading:
    """An image, and one sentence for each conversion."""

    pixels: NDArray[np.uint8]  # [H, W, 3]
    format: str
    notes: tuple[str, ...]


def read_image(path: Path) -> NDArray[np.uint8]:
    """The upright RGB image [H, W, 3] in `path`."""
    return read_image_and_notes(path).pixels


def image_size(path: Path) -> tuple[int, int]:
    """(H, W) from the header, after rotation, without decoding."""
    header = read_header(path)
    return header.height, header.width


def read_image_and_notes(path: Path, page: int | None = None) -> ImageReading:
    """Like `read_image`, with the conversions made; `page`: of a file that holds several pictures."""
    decoded = decode(path, page)
    notes = ["the EXIF rotation was applied"] if decoded.rotated else []
    pixels, note = _to_rgb(decoded.image, path)
    return ImageReading(pixels, decoded.format, tuple(notes + ([note] if note else [])))


def _to_rgb(image: Image.Image, path: Path) -> tuple[NDArray[np.uint8], str]:
    mode = image.mode
    if mode == "RGB":
        small = image.width * image.height <= _SMALL
        return np.array(image) if small else _by_strips(image, lambda strip: strip), ""
    if mode == "I" or mode.startswith("I;"):
        grey, bits = to_eight_bits(np.asarray(image), path)
        return np.repeat(grey[..., None], 3, axis=2), f"{bits}-bit grey values were scaled to 8 bits"
    if mode == "F":
        raise failure("float-image", path, "holds decimal numbers instead of 8-bit colours", "save it as 8-bit PNG")
    if image.has_transparency_data:
        return _by_strips(image, _on_black), "transparent parts were laid on black"
    kind = {"1": "black and white", "L": "grey", "P": "palette"}.get(mode, mode)
    return _by_strips(image, lambda strip: strip.convert("RGB")), f"{kind} pixels were converted to RGB"


def _by_strips(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> NDArray[np.uint8]:
    """`convert` to RGB a few rows at a time: its copies of 40 million pixels would take most of a gigabyte."""
    pixels = np.empty((image.height, image.width, 3), np.uint8)
    for top in range(0, image.height, _STRIP):
        bottom = min(top + _STRIP, image.height)
        pixels[top:bottom] = np.asarray(convert(image.crop((0, top, image.width, bottom))))
    return pixels


def _on_black(strip: Image.Image) -> Image.Image:
    black = Image.new("RGBA", strip.size, (0, 0, 0, 255))
    return Image.alpha_composite(black, strip.convert("RGBA")).convert("RGB")


def to_eight_bits(values: NDArray[np.generic], path: Path) -> tuple[NDArray[np.uint8], int]:
    """Keep the eight highest of the bits in use: a 12-bit camera in a 16-bit file must not come out black."""
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > 65535:
        what = f"holds values from {low} to {high}, more than 16 bits"
        raise failure("deep-image", path, what, "save it with 8 or 16 bits a channel")
    bits = next(depth for depth in _DEPTHS if high.bit_length() <= depth)
    return np.right_shift(values, bits - 8).astype(np.uint8), bits
