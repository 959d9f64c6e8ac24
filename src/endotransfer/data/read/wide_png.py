"""PNG files with 16 bits a channel in colour: Pillow keeps only their upper bytes, which in a label are all zero."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.decode import read_header

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = 33  # bytes: signature, then the header chunk with size, bit depth and kind of colour
_RGB = 2


def png_size(path: Path) -> tuple[int, int] | None:
    """(H, W) from the first bytes of a PNG; None where it is none, or cannot be read.

    Much quicker than opening it as an image, which counts where tens of thousands of pairs are compared.
    """
    head = _head(path)
    if head is None:
        return None
    return int.from_bytes(head[20:24]), int.from_bytes(head[16:20])


def first_channel(path: Path) -> NDArray[np.uint16]:
    """The first of the three channels [H, W] of a 16-bit colour PNG."""
    read_header(path)  # the usual limits and messages first: it exists, is a picture and not enormous
    head = _head(path)
    if head is None or (head[24], head[25]) != (16, _RGB):
        fix = "use the file as it was published, not a converted copy"
        raise failure("not-wide", path, "is not a PNG with 16 bits in each of three colours", fix)
    import torch  # slow to import, and only this format needs it
    from torchvision.io import ImageReadMode, decode_png

    try:
        data = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)
        channel: NDArray[np.uint16] = decode_png(data, ImageReadMode.UNCHANGED)[0].numpy()
        return channel
    except (RuntimeError, OSError) as reason:
        what = "cannot be decoded (cut short or damaged)"
        raise failure("damaged", path, what, "copy it again from where it came from, or remove it") from reason


def _head(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER)
    except OSError:
        return None
    return head if len(head) == _HEADER and head.startswith(_SIGNATURE) else None
