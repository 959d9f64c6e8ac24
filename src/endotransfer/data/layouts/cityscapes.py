"""Cityscapes: leftImg8bit/train/CITY/NAME_leftImg8bit.png with gtFine/train/CITY/NAME_gtFine_labelIds.png; and val.

The labels of its test set are not public, so `val` is what is measured on.
"""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.layouts.layout import layout
from endotransfer.data.layouts.numbers import classes_as, ids_for
from endotransfer.data.layouts.published_files import find, pair, require, require_images

IMAGES, LABELS = "leftImg8bit", "gtFine"
IMAGE_END, LABEL_END = "_leftImg8bit.png", "_gtFine_labelIds.png"
PARTS = ("train", "val")
IDS = 34  # 0 to 33; licence plates (-1) are not drawn in labelIds


@layout(
    "cityscapes",
    summary="Cityscapes: leftImg8bit/ and gtFine/ (2,975 train, 500 val)",
    protocol="cityscapes19",
    recognises=lambda path: (path / IMAGES).is_dir(),
)
def fill(contents: FolderContents, protocol: Protocol) -> None:
    contents.classes = classes_as(protocol, "Cityscapes", ids_for(protocol), IDS)
    contents.columns = ["image", "split", "city"]
    require(contents.path, IMAGES)
    for part in PARTS:
        for city in _folders(contents.path / IMAGES / part):
            _read_city(contents, part, city)
    require_images(contents, IMAGES)


def _read_city(contents: FolderContents, part: str, city: str) -> None:
    """A part without any labels is a target without masks; one that lacks a single file is a broken download."""
    images_at, labels_at = contents.path / IMAGES / part / city, contents.path / LABELS / part / city
    cells = {"split": part, "city": city}
    images = find(contents, images_at, IMAGE_END)
    if not (contents.path / LABELS / part).is_dir():
        contents.entries += [FolderEntry(name, image, None, cells) for name, image in sorted(images.items())]
        return
    labels = find(contents, labels_at, LABEL_END) if labels_at.is_dir() else {}
    pair(contents, images, labels, lambda name: (images_at / (name + IMAGE_END), labels_at / (name + LABEL_END)), cells)


def _folders(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
