"""CamVid with eleven classes: the native folders without a list of classes; `lighting` in labels.csv is day or dusk."""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.folder_contents import FolderContents
from endotransfer.data.folders.labels_csv import FILE
from endotransfer.data.layouts.layout import layout
from endotransfer.data.layouts.native import scan_native

PROTOCOL = "camvid11"
COLUMNS = ["image", "sequence", "lighting", "split"]


def _recognises(path: Path) -> bool:
    """By the columns of its table, which no other set has."""
    table = path / FILE
    if not table.is_file() or (path / "classes.yaml").exists():
        return False
    with table.open("rb") as file:
        return file.readline(1000).strip() == ",".join(COLUMNS).encode()


@layout(
    "camvid",
    summary="CamVid with 11 classes: images/, masks/ and labels.csv with `lighting` (day, dusk)",
    protocol=PROTOCOL,
    recognises=_recognises,
)
def fill(contents: FolderContents, protocol: Protocol) -> None:
    if protocol.name != PROTOCOL:
        what = f"cannot be read as {protocol.name}"
        raise failure("other-classes", contents.path, what, f"write `data.classes: {PROTOCOL}`, or leave it out")
    native = scan_native(contents.path, protocol)
    for name in ("classes", "columns", "entries", "unlisted", "faults", "notes"):
        setattr(contents, name, getattr(native, name))
