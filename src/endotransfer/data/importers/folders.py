"""Your own folders, however deep: images, masks of the same names, and perhaps a folder of normal images."""

from pathlib import Path

from endotransfer.data.importers.find import missing
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.intake import Facts, Intake, say_masks, say_patients
from endotransfer.data.importers.mask_index import MaskIndex
from endotransfer.data.importers.mask_sources import empty
from endotransfer.data.importers.patients import patient_by
from endotransfer.data.importers.records import BINARY, FROM_MASK, Published
from endotransfer.data.importers.tag_words import NO, same_word
from endotransfer.data.importers.tree import IMAGE_FOLDERS, MASK_FOLDERS, Tree, is_mask_path, walk


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
    patient_pattern: str = "",
    frames: str = "1",
) -> Published:
    """`images`, `masks`, `normal` (images without lesion): folders, read with all their sub-folders.
    `masks=`: tagged lesion, without masks; images in a sub-folder called normal are tagged normal.
    `suffix`: what a mask's name has after its image's.  `finding`: one word for all lesions.
    `classes`: names in index order (a,b,c) where masks hold indices; such images get no tag.
    `patient_pattern`: finds the patient in a path, as in '(P[0-9]+)_'; without it the sub-folder is the patient.
    `frames`: of a video, how many a second, or `change`: one whenever the view has changed.
    """
    published = Published(classes=tuple(map(str.strip, classes.split(","))) if classes else BINARY, base=source)
    tree = walk(_given(source, images, "images"), source)
    chosen = [file for file in tree.files if not is_mask_path(tree.relative(file))]
    patient = patient_by(patient_pattern, map(tree.relative, chosen))
    label = "" if classes else FROM_MASK

    def facts(relative: Path) -> Facts:
        tag = label if masks else _tag_of_folder(relative)
        return Facts(tag, finding if tag != "normal" else "", patient(relative))

    drawn = walk(_given(source, masks, "masks"), source) if masks else None
    index = MaskIndex(((drawn.relative(file), file) for file in drawn.files), suffix) if drawn else None
    published.skipped += tree.left
    Intake(published, tree, index, facts, needs_mask=bool(masks), frames=frames).add(chosen)
    if drawn is not None and index is not None:
        published.skipped += drawn.left
        say_masks(published, index, drawn)
    if normal:
        _add_normal(published, walk(_given(source, normal, "normal"), source), patient_pattern, frames)
    say_patients(published, f"the pattern {patient_pattern}" if patient_pattern else "the sub-folder")
    return published


def _tag_of_folder(relative: Path) -> str:
    return "normal" if any(same_word(part) in NO for part in relative.parent.parts) else "lesion"


def _add_normal(published: Published, tree: Tree, pattern: str, frames: str) -> None:
    """Images without lesion; their masks are empty."""
    patient = patient_by(pattern, map(tree.relative, tree.files))
    found = Published()
    Intake(found, tree, None, lambda relative: Facts("normal", "", patient(relative)), frames=frames).add(tree.files)
    published.skipped += [*tree.left, *found.skipped]
    published.items += [item.with_mask(empty) for item in found.items]


def _given(source: Path, name: str, option: str) -> Path:
    if not (source / name).is_dir():
        raise missing(source, name, option=option, known=MASK_FOLDERS if option == "masks" else IMAGE_FOLDERS)
    return source / name
