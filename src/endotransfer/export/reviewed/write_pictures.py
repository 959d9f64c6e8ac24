"""Images of an export, byte for byte."""

import shutil
from pathlib import Path

from endotransfer.export.reviewed.reviewed_set import ReviewedImage


def write_picture(folder: Path, image: ReviewedImage) -> str:
    """Copy the image to `folder`; returns the name of its file."""
    name = f"{image.name}{image.file.suffix.lower()}"
    shutil.copyfile(image.file, folder / name)
    return name
