"""The native layout, with the classes that the experiment asks for."""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.classes import FILE, Classes
from endotransfer.data.folders.faults import Fault
from endotransfer.data.folders.folder_contents import FolderContents
from endotransfer.data.folders.scan_folder import scan_folder


def scan_native(path: Path, protocol: Protocol | None = None) -> FolderContents:
    """`protocol` names the classes of a folder without classes.yaml, and must agree with one that has it."""
    contents = scan_folder(path)
    if protocol is None or any(fault.severity == "error" for fault in contents.faults):
        return contents
    if not (path / FILE).exists():
        contents.classes = Classes(protocol.classes)
    elif contents.classes.names != protocol.classes:
        what = f"does not list the classes of {protocol.name}, which the experiment asks for"
        contents.faults.append(Fault("other-classes", str(path / FILE), what, "correct it, or remove data.classes"))
    return contents
