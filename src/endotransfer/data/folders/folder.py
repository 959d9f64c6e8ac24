"""Everything a folder says about its images, put together, with every fault on the way collected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from endotransfer.data.folders.classes import Classes, read_classes
from endotransfer.data.folders.faults import Fault, FaultError, Note
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


@dataclass(frozen=True)
class FolderEntry:
    """One image: its file, its mask file and its row of the table."""

    name: str
    image: Path
    mask: Path | None = None
    cells: Mapping[str, str] = field(default_factory=dict)

    def cell(self, column: str) -> str:
        return self.cells.get(column, "")


@dataclass
class CollectedFolder:
    """A folder as far as it can be understood.  `unlisted`: images that the table leaves out."""

    path: Path
    classes: Classes = field(default_factory=Classes)
    columns: list[str] = field(default_factory=list)
    entries: list[FolderEntry] = field(default_factory=list)
    unlisted: list[FolderEntry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def collect_folder(path: Path) -> CollectedFolder:
    """Read names and tables of the folder, no pixels.  Never raises for what a user did."""
    gathered = CollectedFolder(path)
    try:
        fault = _folder_fault(path)
        if fault is None:
            _fill(gathered)
    except FaultError as error:
        fault = error.fault
    except OSError as reason:
        fault = Fault("no-permission", str(path), f"cannot be read ({reason.strerror})", "change its rights")
    if fault is not None:
        gathered.faults.insert(0, fault)
    return gathered


def _fill(gathered: CollectedFolder) -> None:
    path = gathered.path
    images = list_files(path / "images", path)
    masks = list_files(path / "masks", path) if (path / "masks").is_dir() else Listing()
    for listing in (images, masks):
        gathered.faults += listing.faults
        gathered.notes += listing.notes
    table = _read_table(gathered)
    if table is not None:
        _follow_table(gathered, table, images, masks)
    else:
        gathered.entries = [FolderEntry(name, image, masks.files.get(name)) for name, image in images.files.items()]
    _lonely_masks(gathered, images, masks)
    if not gathered.entries and not any(fault.severity == "error" for fault in gathered.faults):
        empty = path / (LABELS_FILE if images.files else "images")
        gathered.faults.append(Fault("no-images", str(empty), "holds no image", "add images, or name another folder"))
    gathered.classes = read_classes(path)  # last, since it may raise and the rest is worth having


def _read_table(gathered: CollectedFolder) -> Table | None:
    """The table, or None where there is none, or none that could be followed."""
    path = gathered.path / LABELS_FILE
    if path.is_symlink() and leads_outside(path, gathered.path):
        gathered.faults.append(outside(path))
        return None
    if not path.exists():
        return None
    table = read_labels(path)
    gathered.columns = [column for column in table.columns if column]
    gathered.faults += table.faults
    return table if table.rows or not table.faults else None


def _follow_table(gathered: CollectedFolder, table: Table, images: Listing, masks: Listing) -> None:
    """The table is the list: a row needs a file; an image without a row stays out and is reported."""
    file_names, lines = images.by_file_name(), dict[str, int]()
    refused = _refused(images)
    for row in table.rows:
        written = plain_name(row.cells["image"])
        name = written if written in images.files else file_names.get(written, written)
        where = f"{gathered.path / LABELS_FILE}, line {row.line}"
        if name in lines:
            what = f"names the image '{printable(name)}', as line {lines[name]} does"
            gathered.faults.append(Fault("duplicate-row", where, what, "keep one of the two lines"))
            continue
        lines[name] = row.line
        if name in images.files:
            gathered.entries.append(FolderEntry(name, images.files[name], masks.files.get(name), row.cells))
        elif name not in refused:
            what = f"names the image '{printable(name)}', which is not in images/"
            gathered.faults.append(Fault("no-image", where, what, "add the file, or remove the line"))
    for name in sorted(images.files.keys() - lines.keys()):
        image = images.files[name]
        gathered.unlisted.append(FolderEntry(name, image, masks.files.get(name)))
        fix = "add a line for it (an empty label means unknown), or remove the file"
        gathered.faults.append(
            Fault("unlisted", str(image), "has no line in labels.csv and is left out", fix, "warning")
        )


def _refused(images: Listing) -> set[str]:
    """Names of images that are there but refused; each has its own fault already."""
    return {plain_name(Path(fault.file).stem) for fault in images.faults if fault.severity == "error"}


def _lonely_masks(gathered: CollectedFolder, images: Listing, masks: Listing) -> None:
    for name in sorted(masks.files.keys() - images.files.keys() - _refused(images)):
        fix = "name the mask exactly as its image, or remove it"
        what = "is a mask without an image of the same name"
        gathered.faults.append(Fault("lonely-mask", str(masks.files[name]), what, fix, "warning"))


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
