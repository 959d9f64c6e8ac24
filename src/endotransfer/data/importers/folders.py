"""Your own folders, however deep: images, masks of the same names, and perhaps a folder of normal images."""

from collections.abc import Collection, Sequence
from pathlib import Path

from endotransfer.data.importers.find import missing, pictures
from endotransfer.data.importers.importer import importer
from endotransfer.data.importers.intake import Facts, Intake, say_masks, say_patients
from endotransfer.data.importers.mask_index import MaskIndex, mask_files
from endotransfer.data.importers.mask_sources import empty
from endotransfer.data.importers.patients import patient_by
from endotransfer.data.importers.records import BINARY, FROM_MASK, Published
from endotransfer.data.importers.tag_words import NO, same_word
from endotransfer.data.importers.tree import IMAGE_FOLDERS, MASK_FOLDERS, Tree, walk
from endotransfer.data.importers.unnamed import unnamed

_LIKE_A_MASK = "is a mask by its folder or its name, and no image; name its folder with --masks"


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
    tree = walk(_given(source, images, "images", IMAGE_FOLDERS, ["."] if pictures(source) else []), source)
    beside = mask_files(tree, suffix)
    drawn = walk(_given(source, masks, "masks", MASK_FOLDERS, [images] if beside else []), source) if masks else None
    healthy = walk(_given(source, normal, "normal"), source) if normal else None
    chosen = [file for file in tree.files if file not in beside and not _inside(tree, file, drawn, healthy)]
    patient = patient_by(patient_pattern, map(tree.relative, chosen))
    label = "" if classes else FROM_MASK

    def facts(relative: Path) -> Facts:
        tag = label if masks else _tag_of_folder(relative)
        return Facts(tag, finding if tag != "normal" else "", patient(relative))

    among = set(chosen)
    masked = {file: drawn.relative(file) for file in drawn.files if file not in among} if drawn else {}
    index = MaskIndex(((relative, file) for file, relative in masked.items()), suffix) if drawn else None
    unused = (file for file in tree.files if file in beside and file not in masked)
    published.skipped += [*tree.left, *(f"{tree.shown(file)}: {_LIKE_A_MASK}" for file in unused)]
    published.skipped += unnamed(source, [one.root for one in (tree, drawn, healthy) if one is not None])
    Intake(published, tree, index, facts, needs_mask=bool(masks), frames=frames).add(chosen)
    if drawn is not None and index is not None:
        published.skipped += [line for line in drawn.left if line not in tree.left]
        say_masks(published, index, drawn)
    if healthy is not None:
        _add_normal(published, healthy, patient_pattern, frames)
    say_patients(published, f"the pattern {patient_pattern}" if patient_pattern else "the sub-folder")
    return published


def _inside(tree: Tree, file: Path, *others: Tree | None) -> bool:
    """Whether `file` is in another folder that was named, and that lies among the images."""
    roots = {other.root for other in others if other and tree.root in other.root.parents}
    return not roots.isdisjoint(file.parents)


def _tag_of_folder(relative: Path) -> str:
    return "normal" if any(same_word(part) in NO for part in relative.parent.parts) else "lesion"


def _add_normal(published: Published, tree: Tree, pattern: str, frames: str) -> None:
    """Images without lesion; their masks are empty."""
    patient = patient_by(pattern, map(tree.relative, tree.files))
    found = Published()
    Intake(found, tree, None, lambda relative: Facts("normal", "", patient(relative)), frames=frames).add(tree.files)
    published.skipped += [*tree.left, *found.skipped]
    published.items += [item.with_mask(empty) for item in found.items]


def _given(source: Path, name: str, option: str, known: Collection[str] = (), near: Sequence[str] = ()) -> Path:
    """`known`: what such a folder may be called; `near`: what is meant where none is called so."""
    if not (source / name).is_dir():
        raise missing(source, name, option=option, known=known, near=near)
    return source / name
