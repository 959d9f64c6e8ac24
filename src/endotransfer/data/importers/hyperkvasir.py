"""HyperKvasir: labeled-images/<organ>/<category>/<finding>/x.jpg and segmented-images/{images,masks}/x.jpg.

image-labels.csv repeats the folder names; the folders are read, as the file is missing from some copies.
"""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, folders, pictures, set_folders
from endotransfer.data.importers.importer import choice, importer
from endotransfer.data.importers.mask_sources import empty
from endotransfer.data.importers.records import Item, Published

# Bowel preparation and dyed resections are neither: the set does not say whether a lesion is in view.
LABELS = {"pathological-findings": "lesion", "anatomical-landmarks": "normal"}


@importer(
    "hyperkvasir",
    summary="10,662 gastroscopy and colonoscopy images in 23 classes, and 1,000 polyps with masks",
    url="https://datasets.simula.no/hyper-kvasir/",
    terms="CC BY 4.0",
    cite="Borgli et al., HyperKvasir, a multi-class image and video dataset, Scientific Data 2020",
)
def hyperkvasir(source: Path, part: str = "labelled", organ: str = "all") -> Published:
    """`part`: labelled (tags) or segmented (polyps, masks).  `organ` of the labelled: all, upper or lower."""
    choice("part", part, "labelled", "segmented")
    choice("organ", organ, "all", "upper", "lower")
    published = Published()
    if part == "segmented":
        images, masks = set_folders(source, "images", "masks")
        add_pairs(published, images, masks, lambda image: Item(image.stem, image, None, "lesion", "polyps"))
        return published
    for tract in [f"{organ}-gi-tract"] if organ != "all" else ["upper-gi-tract", "lower-gi-tract"]:
        for category in folders(set_folders(source, tract)[0]):
            for finding in folders(category):
                published.items += [_item(image, tract, category.name) for image in pictures(finding)]
    return published


def _item(image: Path, tract: str, category: str) -> Item:
    label = LABELS.get(category, "")
    mask = empty if label == "normal" else None
    return Item(image.stem, image, mask, label, image.parent.name, more={"organ": tract, "category": category})
