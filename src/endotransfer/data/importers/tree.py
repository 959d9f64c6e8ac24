"""Every file below a folder, however deep: what can be read, and what cannot with its reason."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.group_columns import letters
from endotransfer.data.folders.listing import LITTER, leads_outside, plain_name, printable, why_unread
from endotransfer.data.importers.find import natural
from endotransfer.data.read.dicom import is_dicom
from endotransfer.data.read.picture_file import READ_ENDINGS
from endotransfer.errors import DataError

MASK_FOLDERS = {
    *("mask", "masks", "maske", "masken", "groundtruth", "gt", "annotation", "annotations", "annotationen"),
    *("segmentation", "segmentations", "segmentierung", "segmentierungen", "seg"),
}
IMAGE_FOLDERS = {
    *("image", "images", "img", "imgs", "bild", "bilder", "aufnahme", "aufnahmen", "original", "originals", "frames"),
    "fotos",
}


@dataclass
class Tree:
    """Paths below `root`, in order.  Messages name a file as it is seen from `base`."""

    root: Path
    base: Path
    files: list[Path] = field(default_factory=list)  # with pictures in them, by their ending
    left: list[str] = field(default_factory=list)  # 'file: reason'

    def relative(self, file: Path) -> Path:
        """The file's path below the root, in Unicode normal form."""
        return Path(plain_name(file.relative_to(self.root).as_posix()))

    def shown(self, file: Path) -> str:
        return printable(plain_name(file.relative_to(self.base).as_posix()))


def walk(root: Path, base: Path, used: tuple[Path, ...] = ()) -> Tree:
    """All files below `root` but hidden ones and those in `used`; links that lead out of it are not followed."""
    tree = Tree(root, base)
    try:
        _enter(root, tree, {path.resolve() for path in used})
    except OSError as reason:
        raise DataError(f"cannot read {root}: {reason.strerror}; check the folder and its rights.") from reason
    return tree


def is_mask_path(relative: Path) -> bool:
    """Whether one of the folders on the way says that this is a mask."""
    return any(letters(part) in MASK_FOLDERS for part in relative.parent.parts)  # `Ground Truth`, `ground_truth`


def telling_folders(relative: Path) -> list[str]:
    """The folders on the way that say more than 'images' or 'masks'."""
    return [part for part in relative.parent.parts if letters(part) not in MASK_FOLDERS | IMAGE_FOLDERS]


def _enter(folder: Path, tree: Tree, used: set[Path]) -> None:
    for path in sorted((Path(entry.path) for entry in os.scandir(folder)), key=natural):
        if path.name.startswith((".", "__MACOSX")) or path.name.lower() in LITTER or path.resolve() in used:
            continue
        if path.is_dir() and not path.is_symlink():
            try:
                _enter(path, tree, used)
            except OSError as reason:
                tree.left.append(f"{tree.shown(path)}: cannot be listed ({reason.strerror})")
        elif wrong := _unreadable(path, tree.root):
            tree.left.append(f"{tree.shown(path)}: {wrong}")
        else:
            tree.files.append(path)


def _unreadable(path: Path, root: Path) -> str | None:
    """Why a file is not read, or None."""
    if path.is_symlink() and leads_outside(path, root):
        return "is a link that leaves the folder, which is refused"
    if path.is_dir():  # following it could go round in circles
        return "is a link to a folder, which is not followed"
    if not path.is_file():
        return "is not a file (a broken link or a device)"
    if path.suffix.lower() in READ_ENDINGS or is_dicom(path):
        return None
    return why_unread(path)
