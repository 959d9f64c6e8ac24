"""Kvasir-SEG: images/ and masks/ with equal names, both JPEG, so the masks carry compression noise."""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, set_folders
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.records import Item, Published


@importer(
    "kvasir-seg",
    summary="1,000 colonoscopy images of polyps with masks",
    url="https://datasets.simula.no/kvasir-seg/",
    terms="research and education only",
    cite="Jha et al., Kvasir-SEG: a segmented polyp dataset, MMM 2020",
)
def kvasir_seg(source: Path) -> Published:
    """`kavsir_bboxes.json` (the set's own spelling) is not needed: the masks say more than its boxes."""
    images, masks = set_folders(source, "images", "masks")
    published = Published()
    add_pairs(published, images, masks, lambda image: Item(image.stem, image, None, "lesion", "polyp"))
    return published
