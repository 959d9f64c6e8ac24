"""ETIS-Larib Polyp DB: ETIS-LaribPolypDB/1.tif and 'Ground Truth'/p1.tif."""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, set_folders
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.records import Item, Published


@importer(
    "etis-larib",
    summary="196 colonoscopy frames of polyps from 34 sequences, with masks",
    url="https://polyp.grand-challenge.org/EtisLarib/",
    terms="research and education; the paper must be cited",
    cite="Silva et al., Toward embedded detection of polyps in WCE images, IJCARS 2014",
)
def etis_larib(source: Path) -> Published:
    """Which frame belongs to which of the 34 sequences is not published with the files."""
    images, masks = set_folders(source, "ETIS-LaribPolypDB", "Ground Truth")
    published = Published()

    def describe(image: Path) -> Item:
        return Item(image.stem, image, None, "lesion", "polyp")

    add_pairs(published, images, masks, describe, mask_stem=lambda stem: f"p{stem}")
    return published
