"""The images that a folder holds, with their masks and rows of labels.csv; no pixels are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import Fault, Note


@dataclass(frozen=True)
class FolderEntry:
    """One image: its file, its mask file and its row of labels.csv."""

    name: str
    image: Path
    mask: Path | None = None
    cells: Mapping[str, str] = field(default_factory=dict)

    def cell(self, column: str) -> str:
        return self.cells.get(column, "")


@dataclass
class FolderContents:
    """What was found in a folder, faults included.  `unlisted`: images that labels.csv leaves out."""

    path: Path
    classes: Classes = field(default_factory=Classes)
    columns: list[str] = field(default_factory=list)
    entries: list[FolderEntry] = field(default_factory=list)
    unlisted: list[FolderEntry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
