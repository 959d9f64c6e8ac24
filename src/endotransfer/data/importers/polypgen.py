"""PolypGen: single frames of six centres, sequences with polyps, sequences of normal mucosa.

data_C1/images_C1/x.jpg                       data_C1/masks_C1/x_mask.jpg
sequenceData/positive/seq1/images_seq1/x.jpg  sequenceData/positive/seq1/masks_seq1/x_mask.jpg
sequenceData/negativeOnly/seq1_neg/x.jpg      no masks: no polyp
"""

from pathlib import Path

from endotransfer.data.importers.find import add_pairs, folders, pictures, set_folders, subfolder
from endotransfer.data.importers.importer import choice, importer
from endotransfer.data.importers.mask_sources import empty
from endotransfer.data.importers.records import FROM_MASK, Item, Published

CENTRES = ("C1", "C2", "C3", "C4", "C5", "C6")


@importer(
    "polypgen",
    summary="colonoscopy from six centres: 1,537 single frames with masks, 6,500 frames of sequences",
    url="https://doi.org/10.7303/syn26376615",
    terms="CC BY 4.0",
    cite="Ali et al., A multi-centre polyp detection and segmentation dataset, Scientific Data 2023",
)
def polypgen(source: Path, part: str = "all") -> Published:
    """`part`: frames (single ones), sequences, or all.  Some show no polyp, so the mask gives the tag."""
    choice("part", part, "all", "frames", "sequences")
    published = Published()
    if part != "sequences":
        for folder in set_folders(source, *(f"data_{centre}" for centre in CENTRES)):
            _add_frames(published, folder, "_" + folder.name.removeprefix("data_"))
    if part != "frames":
        (sequences,) = set_folders(source, "sequenceData")
        positive, negative = set_folders(sequences, "positive", "negativeOnly")
        for folder in folders(positive):
            _add_frames(published, folder, "_" + folder.name, prefix=f"{folder.name}_", sequence=folder.name)
        for folder in folders(negative):
            published.items += [
                Item(f"{folder.name}_{image.stem}", image, empty, "normal", more={"sequence": folder.name})
                for image in pictures(folder)
            ]
    return published


def _add_frames(published: Published, folder: Path, ending: str, prefix: str = "", sequence: str = "") -> None:
    """The frames of a centre or sequence: images_C1 and masks_C1 for the ending _C1."""
    images, masks = subfolder(folder, f"images{ending}"), subfolder(folder, f"masks{ending}")
    if images is None or masks is None:
        published.skipped.append(f"{folder.name}: lacks 'images{ending}' or 'masks{ending}'")
        return
    more = {"sequence": sequence} if sequence else {"centre": ending.removeprefix("_")}

    def describe(image: Path) -> Item:
        return Item(prefix + image.stem, image, None, FROM_MASK, "polyp", more=more)

    # One image of centre 3 ends in a stray underscore that its mask lacks.
    add_pairs(published, images, masks, describe, mask_stem=lambda stem: f"{stem.rstrip('_')}_mask")
