"""The samples of one folder, in the native layout (`images/`, `masks/`, `labels.csv`) or a published one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError, Note, failure
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.folders.listing import printable
from endotransfer.data.layouts import read_layout
from endotransfer.label_values import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.samples import Sample, group_of

ALL = "all"
_TAGS = {"lesion": LESION, "normal": NORMAL}


@dataclass(frozen=True)
class Folder:
    """The selected images of one folder."""

    path: Path
    classes: Classes
    samples: list[Sample] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)  # images that are there but left out


def read_folder(
    path: Path, *, split: str | None = None, where: Mapping[str, str] | None = None, name: str | None = None,
    layout: str = "auto", classes: str | None = None,
) -> Folder:  # fmt: skip
    """The images of `path` in `split` (None or "all": every image) whose columns equal `where`.

    `name` stands for the folder in keys and groups (default: the folder's own name); `classes` is the protocol that
    its labels are read as (default: the folder's own classes).
    """
    contents = read_contents(path, layout, classes)
    entries = _in_split(contents, split)
    for column, value in (where or {}).items():
        entries = _where(contents, entries, column, value)
    called = name or path.resolve().name
    left_out = [note for note in contents.notes if note.code == "left-out"]
    return Folder(path, contents.classes, [to_sample(entry, called) for entry in entries], left_out)


def read_contents(path: Path, layout: str = "auto", classes: str | None = None) -> FolderContents:
    """Names and table of the folder; its first error is raised."""
    contents = read_layout(path, layout, classes)
    fault = next((fault for fault in contents.faults if fault.severity == "error"), None)
    if fault is not None:
        raise FaultError(fault.sentence(), fault)
    return contents


def to_sample(entry: FolderEntry, folder: str) -> Sample:
    """The sample of `entry`; `folder` stands for its folder in key and group."""
    key = f"{folder}/{entry.name}"
    tag = _TAGS.get(entry.cell("label"), UNKNOWN_TAG)
    return Sample(
        key, entry.image, entry.mask, tag, entry.cell("finding"), entry.cell("split"), group_of(key, entry.cell)
    )


def _in_split(contents: FolderContents, split: str | None) -> list[FolderEntry]:
    if split is None or split == ALL:
        return contents.entries
    chosen = [entry for entry in contents.entries if entry.cell("split") == split]
    if not chosen:
        existing = _values(contents.entries, "split")
        have = f"it has: {', '.join(existing)}" if existing else "it has none"
        fix = f"name one of them, or make parts with `endotransfer data split {contents.path}`"
        raise failure("empty-split", contents.path, f"has no image in the split '{split}' ({have})", fix)
    return chosen


def _where(contents: FolderContents, entries: list[FolderEntry], column: str, value: str) -> list[FolderEntry]:
    table = contents.path / "labels.csv"
    where = table if table.exists() else contents.path  # a published layout has its columns from elsewhere
    if column not in contents.columns:
        known = ", ".join(contents.columns) or "none, there is no labels.csv"
        fix = f"name one of its columns ({known})"
        raise failure("no-column", where, f"has no column '{column}'", fix)
    chosen = [entry for entry in entries if entry.cell(column) == value]
    if not chosen:
        existing = ", ".join(_values(entries, column)[:12])
        what = f"has no image left with {column} = '{value}'"
        raise failure("empty-selection", where, what, f"choose among: {existing}")
    return chosen


def _values(entries: list[FolderEntry], column: str) -> list[str]:
    return sorted({printable(entry.cell(column)) for entry in entries if entry.cell(column)})
