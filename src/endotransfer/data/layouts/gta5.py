"""GTA5 ("Playing for Data"): images/00001.png with labels/00001.png, palette PNGs whose indices are label ids.

A few of its 24,966 labels have another size than their image; such pairs are left out and named.
"""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.faults import Note
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.layouts.layout import layout
from endotransfer.data.layouts.numbers import CITYSCAPES_IDS, classes_as
from endotransfer.data.layouts.published_files import SHOWN, find, pair, require, require_images
from endotransfer.data.pipeline.threads import in_threads
from endotransfer.data.read.wide_png import png_size

END = ".png"
NAMES = "[0-9]" * 5 + END
IDS = 35  # Cityscapes' 0 to 33, and 34 for licence plates


def _recognises(path: Path) -> bool:
    """By five digits in both folders, and by what the native layout has: others keep text files in `labels`."""
    native = any((path / name).exists() for name in ("masks", "labels.csv", "classes.yaml"))
    return not native and all(any((path / folder).glob(NAMES)) for folder in ("images", "labels"))


@layout(
    "gta5",
    summary="GTA5 (Playing for Data): images/ and labels/ (24,966)",
    protocol="cityscapes19",
    recognises=_recognises,
)
def fill(contents: FolderContents, protocol: Protocol) -> None:
    contents.classes = classes_as(protocol, "GTA5", CITYSCAPES_IDS, IDS)
    contents.columns = ["image"]
    path = contents.path
    require(path, "images", "labels")
    images, labels = find(contents, path / "images", END), find(contents, path / "labels", END)
    pair(contents, images, labels, lambda name: (path / "images" / (name + END), path / "labels" / (name + END)))
    _leave_out_other_sizes(contents)
    require_images(contents, "images")


def _leave_out_other_sizes(contents: FolderContents) -> None:
    same = in_threads(_same_size, contents.entries)
    odd = [entry for entry, fits in zip(contents.entries, same, strict=True) if not fits]
    if not odd:
        return
    contents.entries = [entry for entry, fits in zip(contents.entries, same, strict=True) if fits]
    names = ", ".join(entry.name for entry in odd[:SHOWN]) + (", ..." if len(odd) > SHOWN else "")
    what = f"pairs whose label has another size than its image are left out: {names}"
    contents.notes.append(Note("left-out", what, tuple(str(entry.mask) for entry in odd)))


def _same_size(entry: FolderEntry) -> bool:
    """Of files that are no PNG nothing is known here; reading them will say so."""
    assert entry.mask is not None
    image, label = png_size(entry.image), png_size(entry.mask)
    return image is None or label is None or image == label
