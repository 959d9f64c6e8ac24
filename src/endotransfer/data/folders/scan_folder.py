"""Scan a folder in the native layout: images/, masks/, labels.csv and classes.yaml."""

from difflib import get_close_matches
from pathlib import Path

from endotransfer.data.folders.classes import read_classes
from endotransfer.data.folders.faults import Fault, FaultError
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.folders.labels_csv import FILE as LABELS_FILE
from endotransfer.data.folders.labels_csv import Table, read_labels
from endotransfer.data.folders.listing import (
    SUFFIXES,
    Listing,
    leads_outside,
    list_files,
    outside,
    plain_name,
    printable,
)


def scan_folder(path: Path) -> FolderContents:
    """List images, masks and labels of the folder.  No pixels are read; faults are collected instead of raised."""
    contents = FolderContents(path)
    try:
        fault = _folder_fault(path)
        if fault is None:
            _fill(contents)
    except FaultError as error:
        fault = error.fault
    except OSError as reason:
        fault = Fault("no-permission", str(path), f"cannot be read ({reason.strerror})", "change its rights")
    if fault is not None:
        contents.faults.insert(0, fault)
    return contents


def _fill(contents: FolderContents) -> None:
    path = contents.path
    images = list_files(path / "images", path)
    masks = list_files(path / "masks", path) if (path / "masks").is_dir() else Listing()
    for listing in (images, masks):
        contents.faults += listing.faults
        contents.notes += listing.notes
    table = _read_table(contents)
    if table is not None:
        _follow_table(contents, table, images, masks)
    else:
        contents.entries = [FolderEntry(name, image, masks.files.get(name)) for name, image in images.files.items()]
    _check_masks_without_image(contents, images, masks)
    if not contents.entries and not any(fault.severity == "error" for fault in contents.faults):
        empty = path / (LABELS_FILE if images.files else "images")
        contents.faults.append(Fault("no-images", str(empty), "holds no image", "add images, or name another folder"))
    contents.classes = read_classes(path)  # last, since it may raise and the rest is worth having


def _read_table(contents: FolderContents) -> Table | None:
    """The table, or None where there is none, or none that could be followed."""
    path = contents.path / LABELS_FILE
    if path.is_symlink() and leads_outside(path, contents.path):
        contents.faults.append(outside(path))
        return None
    if not path.exists():
        return None
    table = read_labels(path)
    contents.columns = [column for column in table.columns if column]
    contents.faults += table.faults
    contents.notes += table.notes
    return table if table.rows or not table.faults else None


def _follow_table(contents: FolderContents, table: Table, images: Listing, masks: Listing) -> None:
    """The table is the list: a row needs a file; an image without a row stays out and is reported."""
    file_names, lines = images.by_file_name(), dict[str, int]()
    refused = _refused(images)
    for row in table.rows:
        written = plain_name(row.cells["image"])
        name = written if written in images.files else file_names.get(written, written)
        where = f"{contents.path / LABELS_FILE}, line {row.line}"
        if name in lines:
            what = f"names the image '{printable(name)}', as line {lines[name]} does"
            contents.faults.append(Fault("duplicate-row", where, what, "keep one of the two lines"))
            continue
        lines[name] = row.line
        if name in images.files:
            contents.entries.append(FolderEntry(name, images.files[name], masks.files.get(name), row.cells))
        elif name not in refused:
            what = f"names the image '{printable(name)}', which is not in images/"
            contents.faults.append(Fault("no-image", where, what, "add the file, or remove the line"))
    for name in sorted(images.files.keys() - lines.keys()):
        image = images.files[name]
        contents.unlisted.append(FolderEntry(name, image, masks.files.get(name)))
        fix = "add a line for it (an empty label means unknown), or remove the file"
        contents.faults.append(
            Fault("unlisted", str(image), "has no line in labels.csv and is left out", fix, "warning")
        )


def _refused(images: Listing) -> set[str]:
    """Names of images that are there but refused; each has its own fault already."""
    return {plain_name(Path(fault.file).stem) for fault in images.faults if fault.severity == "error"}


def _check_masks_without_image(contents: FolderContents, images: Listing, masks: Listing) -> None:
    for name in sorted(masks.files.keys() - images.files.keys() - _refused(images)):
        fix = "name the mask exactly as its image, or remove it"
        what = "is a mask without an image of the same name"
        contents.faults.append(Fault("lonely-mask", str(masks.files[name]), what, fix, "warning"))


def _folder_fault(path: Path) -> Fault | None:
    if not path.is_dir():
        siblings = [entry.name for entry in path.parent.iterdir() if entry.is_dir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, siblings, n=1, cutoff=0.5)
        fix = f"did you mean '{path.parent / close[0]}'?" if close else "check the path"
        return Fault("no-folder", str(path), "is not a folder", fix)
    if (path / "images").is_dir():
        return None
    if path.name == "images":
        fix = f"name the folder above it ({path.parent})"
    elif any(file.suffix.lower() in SUFFIXES for file in path.iterdir()):
        fix = "move the images into a sub-folder images/"
    else:
        fix = "bring it into the layout images/, masks/, labels.csv (see `endotransfer data import`)"
    return Fault("no-images-folder", str(path), "has no sub-folder images/", fix)
