"""WCEBleedGen: bleeding/ and non-bleeding/, each with images 'img- (1).png' and masks 'ann- (1).png'.

Releases differ in capitals and plurals: Images or images, Annotations, annotations or annotation.
"""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, missing, set_folders, subfolder
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.records import Item, Published


@importer(
    "wcebleedgen",
    summary="2,618 capsule endoscopy frames, half of them bleeding, with masks",
    url="https://zenodo.org/records/10156571",
    terms="research; see the record",
    cite="Handa et al., WCEbleedGen: a wireless capsule endoscopy dataset, arXiv 2408.12466, 2024",
)
def wcebleedgen(source: Path) -> Published:
    """Numbers start anew in each half, so the half becomes part of the name."""
    bleeding, normal = set_folders(source, "bleeding", "non-bleeding")
    published = Published()
    _add_half(published, bleeding, "bleeding", "lesion", "bleeding")
    _add_half(published, normal, "non-bleeding", "normal", "")
    return published


def _add_half(published: Published, half: Path, prefix: str, label: str, finding: str) -> None:
    images, masks = subfolder(half, "images"), subfolder(half, "annotations", "annotation")
    if images is None or masks is None:
        raise missing(half, "images", "annotations")

    def describe(image: Path) -> Item:
        number = "".join(filter(str.isdigit, image.stem)).zfill(4)
        return Item(f"{prefix}-{number}", image, None, label, finding)

    add_pairs(published, images, masks, describe, mask_stem=lambda stem: stem.replace("img", "ann", 1))
