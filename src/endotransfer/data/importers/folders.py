"""Plain folders: images, masks of the same names, and perhaps a folder of normal images."""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, missing, pictures
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.mask_sources import empty
from endotransfer.data.importers.records import BINARY, FROM_MASK, Item, Published


@importer(
    "folders",
    summary="your own folders of images and masks",
    url="docs/data-sets.md",
    terms="your own",
    cite="your own",
)
def folders(
    source: Path,
    images: str = "images",
    masks: str = "masks",
    suffix: str = "",
    normal: str = "",
    finding: str = "",
    classes: str = "",
) -> Published:
    """`images`, `masks`, `normal` (images without lesion): folders.  `masks=`: tagged lesion, without masks.
    `suffix`: what a mask's name has after its image's.  `finding`: one word for all lesions.
    `classes`: names in index order (a,b,c) where masks hold indices; such images get no tag.
    """
    published = Published(classes=tuple(map(str.strip, classes.split(","))) if classes else BINARY)
    label = "lesion" if not masks else "" if classes else FROM_MASK

    def describe(image: Path) -> Item:
        return Item(image.stem, image, None, label, finding)

    if masks:
        pair = _given(source, images), _given(source, masks)
        add_pairs(published, *pair, describe, mask_stem=lambda stem: stem + suffix)
    else:
        published.items += map(describe, pictures(_given(source, images)))
    for image in pictures(_given(source, normal)) if normal else []:
        published.items.append(Item(image.stem, image, empty, "normal"))
    return published


def _given(source: Path, name: str) -> Path:
    if not (source / name).is_dir():
        raise missing(source, name)
    return source / name
