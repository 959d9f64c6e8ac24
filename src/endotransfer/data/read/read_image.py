"""Read any image file as upright 8-bit RGB."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.decode import decode, read_header

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


def read_image_and_notes(path: Path) -> ImageReading:
    """Like `read_image`, with the conversions made."""
    decoded = decode(path)
    notes = ["the EXIF rotation was applied"] if decoded.rotated else []
    pixels, note = _to_rgb(decoded.image, path)
    return ImageReading(pixels, decoded.format, tuple(notes + ([note] if note else [])))


def _to_rgb(image: Image.Image, path: Path) -> tuple[NDArray[np.uint8], str]:
    mode = image.mode
    if mode == "RGB":
        return np.array(image), ""
    if mode == "I" or mode.startswith("I;"):
        grey, bits = _to_eight_bits(np.asarray(image))
        return np.repeat(grey[..., None], 3, axis=2), f"{bits}-bit grey values were scaled to 8 bits"
    if mode == "F":
        raise failure("float-image", path, "holds decimal numbers instead of 8-bit colours", "save it as 8-bit PNG")
    if image.has_transparency_data:
        black = Image.new("RGBA", image.size, (0, 0, 0, 255))
        flat = Image.alpha_composite(black, image.convert("RGBA")).convert("RGB")
        return np.array(flat), "transparent parts were laid on black"
    kind = {"1": "black and white", "L": "grey", "P": "palette"}.get(mode, mode)
    return np.array(image.convert("RGB")), f"{kind} pixels were converted to RGB"


def _to_eight_bits(values: NDArray[np.generic]) -> tuple[NDArray[np.uint8], int]:
    """Keep the eight highest of the bits in use: a 12-bit camera in a 16-bit file must not come out black."""
    wide = np.clip(values.astype(np.int64), 0, 65535)
    used = int(wide.max()).bit_length()
    bits = next(depth for depth in _DEPTHS if used <= depth)
    return (wide >> (bits - 8)).astype(np.uint8), bits
