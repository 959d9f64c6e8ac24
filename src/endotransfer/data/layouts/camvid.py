"""CamVid with eleven classes: the native folders without a list of classes; `lighting` in labels.csv is day or dusk."""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.folder import CollectedFolder
from endotransfer.data.folders.labels_csv import FILE
from endotransfer.data.layouts.layout import layout
from endotransfer.data.layouts.native import collect_native

PROTOCOL = "camvid11"
COLUMNS = ["image", "sequence", "lighting", "split"]


def _recognises(path: Path) -> bool:
    """By the columns of its table, which no other set has."""
    table = path / FILE
    if not table.is_file() or (path / "classes.yaml").exists():
        return False
    with table.open("rb") as file:
        return file.readline().strip() == ",".join(COLUMNS).encode()


@layout(
    "camvid",
    summary="CamVid with 11 classes: images/, masks/ and labels.csv with `lighting` (day, dusk)",
    protocol=PROTOCOL,
    recognises=_recognises,
)
def fill(gathered: CollectedFolder, protocol: Protocol) -> None:
    if protocol.name != PROTOCOL:
        what = f"cannot be read as {protocol.name}"
        raise failure("other-classes", gathered.path, what, f"write `data.classes: {PROTOCOL}`, or leave it out")
    native = collect_native(gathered.path, protocol)
    for name in ("classes", "columns", "entries", "unlisted", "faults", "notes"):
        setattr(gathered, name, getattr(native, name))
