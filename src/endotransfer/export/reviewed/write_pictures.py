"""Images of an export: files byte for byte, frames of a video as PNG."""

import shutil
from pathlib import Path

from PIL import Image

from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage


def write_picture(folder: Path, image: ReviewedImage, pixels: Pixels) -> str:
    """Put the image into `folder`; returns the name of its file."""
    if image.frame is not None:
        name = f"{image.name}.png"
        Image.fromarray(pixels).save(folder / name)
        return name
    name = f"{image.name}{image.file.suffix.lower()}"
    shutil.copyfile(image.file, folder / name)
    return name
