"""Cityscapes: leftImg8bit/train/CITY/NAME_leftImg8bit.png with gtFine/train/CITY/NAME_gtFine_labelIds.png; and val.

The labels of its test set are not public, so `val` is what is measured on.
"""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.folder import CollectedFolder, FolderEntry
from endotransfer.data.layouts.layout import layout
from endotransfer.data.layouts.numbers import CITYSCAPES_IDS, classes_as
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
def fill(gathered: CollectedFolder, protocol: Protocol) -> None:
    gathered.classes = classes_as(protocol, "Cityscapes", CITYSCAPES_IDS, IDS)
    gathered.columns = ["image", "split", "city"]
    require(gathered.path, IMAGES)
    for part in PARTS:
        for city in _folders(gathered.path / IMAGES / part):
            _read_city(gathered, part, city)
    require_images(gathered, IMAGES)


def _read_city(gathered: CollectedFolder, part: str, city: str) -> None:
    """A part without any labels is a target without masks; one that lacks a single file is a broken download."""
    images_at, labels_at = gathered.path / IMAGES / part / city, gathered.path / LABELS / part / city
    cells = {"split": part, "city": city}
    images = find(gathered, images_at, IMAGE_END)
    if not (gathered.path / LABELS / part).is_dir():
        gathered.entries += [FolderEntry(name, image, None, cells) for name, image in sorted(images.items())]
        return
    labels = find(gathered, labels_at, LABEL_END) if labels_at.is_dir() else {}
    pair(gathered, images, labels, lambda name: (images_at / (name + IMAGE_END), labels_at / (name + LABEL_END)), cells)


def _folders(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
