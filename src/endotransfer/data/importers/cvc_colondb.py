"""CVC-ColonDB, the release of 380 frames: images/ and masks/ with equal names."""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, set_folders
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.records import Item, Published


@importer(
    "cvc-colondb",
    summary="380 colonoscopy frames of polyps from 15 sequences, with masks",
    url="http://vi.cvc.uab.es/colon-qa/cvccolondb/",
    terms="research and education; the paper must be cited",
    cite="Bernal et al., Towards automatic polyp detection with a polyp appearance model, 2012",
)
def cvc_colondb(source: Path) -> Published:
    """Which frame belongs to which of the 15 sequences is not published with the files."""
    images, masks = set_folders(source, "images", "masks")
    published = Published()
    add_pairs(published, images, masks, lambda image: Item(image.stem, image, None, "lesion", "polyp"))
    return published
