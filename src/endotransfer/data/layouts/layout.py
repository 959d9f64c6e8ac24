"""The registry of layouts, and `read_layout`, which reads a folder in any of them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from endotransfer.config.class_lists import PROTOCOLS, Protocol
from endotransfer.data.folders.faults import Fault, FaultError
from endotransfer.data.folders.folder_contents import FolderContents
from endotransfer.data.layouts.native import scan_native
from endotransfer.registry import Registry

AUTO, NATIVE = "auto", "native"

Fill = Callable[[FolderContents, Protocol], None]


@dataclass(frozen=True)
class Layout:
    """One published layout.  `fill` adds entries, classes and faults to an empty `FolderContents`."""

    name: str
    summary: str
    protocol: str  # whose classes it is read as, unless the experiment says otherwise
    recognises: Callable[[Path], bool]  # whether a folder is unmistakably in this layout
    fill: Fill


LAYOUTS: Registry[Layout | None] = Registry("layout")
LAYOUTS.add(NATIVE, None)
LAYOUTS.add(AUTO, None)


def layout(name: str, *, summary: str, protocol: str, recognises: Callable[[Path], bool]) -> Callable[[Fill], Fill]:
    """Register the decorated function as the layout called `name`."""

    def register(fill: Fill) -> Fill:
        LAYOUTS.add(name, Layout(name, summary, protocol, recognises, fill))
        return fill

    return register


def read_layout(path: Path, name: str = AUTO, classes: str | None = None) -> FolderContents:
    """Names and tables of the folder in the layout called `name`, read as the protocol `classes`; no pixels.

    Faults of the folder are collected, not raised.
    """
    chosen = LAYOUTS.get(name)
    if name == AUTO:
        chosen = recognised(path)
    if chosen is None:
        return scan_native(path, None if classes is None else PROTOCOLS.get(classes))
    contents = FolderContents(path)
    try:
        chosen.fill(contents, PROTOCOLS.get(classes or chosen.protocol))
    except FaultError as error:
        assert error.fault is not None
        contents.faults.insert(0, error.fault)
    except OSError as reason:
        what = f"cannot be read ({reason.strerror})"
        contents.faults.insert(0, Fault("no-permission", str(path), what, "change its rights"))
    return contents


def recognised(path: Path) -> Layout | None:
    """The published layout that the folder is unmistakably in; None: the native one, or none at all."""
    try:
        return next((one for _, one in LAYOUTS.items() if one is not None and one.recognises(path)), None)
    except OSError:
        return None


def is_data_folder(path: Path) -> bool:
    return (path / "images").is_dir() or recognised(path) is not None
