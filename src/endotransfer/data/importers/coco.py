"""COCO json: outlines as polygons or run lengths, the way labelling programmes export them."""

from pathlib import Path

from endotransfer.data.folders.listing import SUFFIXES, printable
from endotransfer.data.importers.coco_file import NOT_DECIDED, Annotation, read_coco
from endotransfer.data.importers.importer import choice, importer
from endotransfer.data.importers.mask_sources import empty, paint
from endotransfer.data.importers.outlines import outline_mask
from endotransfer.data.importers.records import BINARY, Item, MaskMaker, Published
from endotransfer.data.read.read_mask import MaskReading


@importer(
    "coco",
    summary="any set with a COCO json file of outlines",
    url="https://cocodataset.org/#format-data",
    terms="those of the set itself",
    cite="the set itself",
)
def coco(
    source: Path, file: str = "", images: str = "images", classes: str = "merged", bare: str = "normal"
) -> Published:
    """`file`: the json (default: the only one).  `images`: the folder that its file names start from.
    `classes`: merged (lesion or not) or separate (an index for each category; the later annotation wins).
    `bare`: what an image without annotation is, normal or unknown.
    """
    separate = choice("classes", classes, "merged", "separate") == "separate"
    bare_label = "normal" if choice("bare", bare, "normal", "unknown") == "normal" else ""
    content = read_coco(source, file)
    names = {category.id: category.name for category in content.categories if category.name != NOT_DECIDED}
    index = {identity: place if separate else 1 for place, identity in enumerate(names, start=1)}
    published = Published(classes=(BINARY[0], *names.values()) if separate else BINARY)
    outlines, folder = content.by_image(), (source / images).resolve()
    for entry in content.images:
        image, drawn = (folder / entry.file_name).resolve(), outlines.get(entry.id, [])
        name = "_".join(Path(entry.file_name).parts).removesuffix(image.suffix)
        finding = "+".join(sorted({names.get(annotation.category_id, NOT_DECIDED) for annotation in drawn}))
        if any(annotation.category_id not in names for annotation in drawn):
            published.skipped.append(f"{entry.file_name}: has undecided pixels, which an import cannot keep")
        elif not image.is_relative_to(folder) or not image.is_file():
            published.skipped.append(f"{entry.file_name}: no such image in {images}")
        elif drawn:
            published.items.append(Item(name, image, _drawn(drawn, index), "lesion", finding))
        else:
            published.items.append(Item(name, image, empty if bare_label else None, bare_label))
    published.skipped += _unlisted(folder, {(folder / entry.file_name).resolve() for entry in content.images})
    return published


def _unlisted(folder: Path, listed: set[Path]) -> list[str]:
    """One line on the pictures that the json does not know: often those of another part of the set."""
    left = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path not in listed)
    left = [path for path in left if not path.name.startswith(".")]
    first = printable(left[0].relative_to(folder).as_posix()) if left else ""
    return [f"{folder.name}: {len(left)} pictures in it are not listed in the json (first: {first})"] if left else []


def _drawn(annotations: list[Annotation], index: dict[int, int]) -> MaskMaker:
    def layer(annotation: Annotation, size: tuple[int, int]) -> tuple[int, MaskReading]:
        mask = outline_mask(annotation.segmentation, size).astype("uint8")
        return index[annotation.category_id], MaskReading(mask, ("outlines were drawn as a mask",))

    return lambda size: paint(size, [layer(annotation, size) for annotation in annotations])
