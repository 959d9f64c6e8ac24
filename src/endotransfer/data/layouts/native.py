"""Our own layout where the experiment says what the classes are; see `collect_folder` for the layout itself."""

from pathlib import Path

from endotransfer.config.class_lists import Protocol
from endotransfer.data.folders.classes import FILE, Classes
from endotransfer.data.folders.faults import Fault
from endotransfer.data.folders.folder import CollectedFolder, collect_folder


def collect_native(path: Path, protocol: Protocol | None = None) -> CollectedFolder:
    """`protocol` names the classes of a folder without classes.yaml, and must agree with one that has it."""
    gathered = collect_folder(path)
    if protocol is None or any(fault.severity == "error" for fault in gathered.faults):
        return gathered
    if not (path / FILE).exists():
        gathered.classes = Classes(protocol.classes)
    elif gathered.classes.names != protocol.classes:
        what = f"does not list the classes of {protocol.name}, which the experiment asks for"
        gathered.faults.append(Fault("other-classes", str(path / FILE), what, "correct it, or remove data.classes"))
    return gathered
