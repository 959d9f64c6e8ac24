"""The image and mask files of a folder, by name; none is opened."""

import os
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.faults import Fault, Note

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
LITTER = (
    "thumbs.db",
    "desktop.ini",
)  # what operating systems leave behind; names with a leading dot as well
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")


@dataclass
class Listing:
    """Name without suffix -> path, for one sub-folder (`images` or `masks`), and what was odd about it."""

    files: dict[str, Path] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def by_file_name(self) -> dict[str, str]:
        """File name with suffix -> name, since some tables write `a.jpg` and some `a`."""
        return {plain_name(path.name): name for name, path in self.files.items()}


def plain_name(name: str) -> str:
    """The name in Unicode normal form: some systems write an accented letter as two characters."""
    return unicodedata.normalize("NFC", name)


def unsafe_name(name: str) -> bool:
    """Whether a name from a table could lead out of its folder."""
    return name in ("", ".", "..") or any(mark in name for mark in ("/", "\\", "\0"))


def printable(name: object) -> str:
    """A name that can be printed anywhere: undecodable bytes and control characters are spelt out."""
    if str(name).isprintable():  # nearly every name, and there may be a hundred thousand
        return str(name)
    spelt = str(name).encode("utf-8", "backslashreplace").decode()
    return "".join(c if unicodedata.category(c) != "Cc" else repr(c)[1:-1] for c in spelt)


def why_unread(path: Path) -> str:
    """Of a file with an ending that nothing here reads."""
    if path.suffix.lower() in ARCHIVES:
        return "is an archive, which is not looked into; unpack it"
    return f"files in {printable(path.suffix)} are not read" if path.suffix else "files without an ending are not read"


def list_files(folder: Path, root: Path) -> Listing:
    """The image files right inside `folder`; a link may not leave `root`."""
    listing = Listing()
    if leads_outside(folder, root):
        listing.faults.append(outside(folder))
        return listing
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as reason:
        what = f"cannot be listed ({reason.strerror})"
        listing.faults.append(Fault("no-permission", str(folder), what, "change its rights"))
        return listing
    for entry in entries:
        _take(entry, listing, root)
    return listing


def _take(entry: "os.DirEntry[str]", listing: Listing, root: Path) -> None:
    path, name = Path(entry.path), plain_name(Path(entry.name).stem)
    if entry.name.startswith(".") or entry.name.lower() in LITTER:
        return
    fault = _fault_of(entry, root)
    if fault is None and name in listing.files:
        what = f"has the same name as {listing.files[name].name}, so one mask would serve two images"
        fault = Fault("same-name", str(path), what, "rename or remove one of them")
    if fault is not None:
        listing.faults.append(fault)
        return
    listing.files[name] = path
    if not entry.name.isascii() or " " in entry.name:
        what = "names with spaces or letters beyond ASCII are read as they are"
        listing.notes.append(Note("unusual-name", what, (str(path),)))


def _fault_of(entry: "os.DirEntry[str]", root: Path) -> Fault | None:
    path, shown = Path(entry.path), printable(entry.path)
    if shown != entry.path:
        what = "has a name with control characters or broken encoding"
        return Fault("bad-name", shown, what, "rename it")
    if entry.is_symlink() and leads_outside(path, root):
        return outside(path)
    if entry.is_dir():
        fix = "move its files up, or import the whole (`endotransfer data import folders`), which reads sub-folders"
        return Fault("sub-folder", shown, "is a sub-folder, which is not read", fix, "warning")
    if path.suffix.lower() not in SUFFIXES:
        fix = (
            "convert it to PNG or JPEG (`endotransfer data import folders` reads DICOM, video, HEIC, GIF), or remove it"
        )
        return Fault("other-file", shown, "is not an image by its suffix and is not read", fix, "warning")
    if not entry.is_file():
        return Fault("not-a-file", shown, "is not a file (a broken link or a device)", "remove it")
    return None


def leads_outside(path: Path, root: Path) -> bool:
    try:
        goal = path.resolve()
        return goal.is_symlink() or not goal.is_relative_to(root.resolve())  # Python 3.13 leaves a circle as it is
    except (OSError, RuntimeError):  # a link that leads to itself
        return True


def outside(path: Path) -> Fault:
    what = "is a link that leaves the folder, which is refused"
    return Fault("link-outside", str(path), what, "replace it with a copy of what it points to")
