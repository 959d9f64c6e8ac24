"""Importers of sets with one folder of images and one of masks, where every image shows a polyp."""

from collections.abc import Callable
from pathlib import Path

from endotransfer.data.importers.find import add_pairs, set_folders
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.records import Item, Published


def paired_importer(
    name: str, images: str, masks: str, *, summary: str, url: str, terms: str, cite: str, mask_prefix: str = "",
    sequence: Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Register the importer `name` for folders `images` and `masks`.

    A mask is called like its image, with `mask_prefix` in front; `sequence` is the sequence of an image, by its stem
    ("" where it is not known).
    """

    @importer(name, summary=summary, url=url, terms=terms, cite=cite)
    def read(source: Path) -> Published:
        published = Published()

        def describe(image: Path) -> Item:
            more = {"sequence": sequence(image.stem)} if sequence else {}
            return Item(image.stem, image, None, "lesion", "polyp", more=more)

        image_folder, mask_folder = set_folders(source, images, masks)
        add_pairs(published, image_folder, mask_folder, describe, mask_stem=lambda stem: mask_prefix + stem)
        return published
