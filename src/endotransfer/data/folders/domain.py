"""Folders as samples: one or several, in the native layout (`images/`, `masks/`, `labels.csv`) or a published one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError, Note, failure
from endotransfer.data.folders.folder import CollectedFolder, FolderEntry
from endotransfer.data.folders.listing import printable
from endotransfer.data.folders.pairs import check_pairs, check_tag
from endotransfer.data.layouts import read_layout

__all__ = [
    "Domain",
    "Folder",
    "FolderPart",
    "check_pairs",
    "check_tag",
    "distinct_names",
    "read_domain",
    "read_entries",
    "read_folder",
    "to_sample",
]

ALL = "all"
_TAGS = {"lesion": LESION, "normal": NORMAL}


class FolderPart(NamedTuple):
    """What an experiment says of one folder."""

    path: Path
    split: str | None = None
    where: Mapping[str, str] | None = None
    layout: str = "auto"


@dataclass(frozen=True)
class Folder:
    """The selected images of one folder."""

    path: Path
    classes: Classes
    samples: list[Sample] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)  # images that are there but left out


@dataclass(frozen=True)
class Domain:
    """The images of one domain, from one folder or several with equal classes."""

    classes: Classes
    samples: list[Sample] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def read_folder(
    path: Path, *, split: str | None = None, where: Mapping[str, str] | None = None, name: str | None = None,
    layout: str = "auto", classes: str | None = None,
) -> Folder:  # fmt: skip
    """The images of `path` in `split` (None or "all": every image) whose columns equal `where`.

    `name` stands for the folder in keys and groups (default: the folder's own name); `classes` is the protocol that
    its labels are read as (default: the folder's own classes).
    """
    gathered = read_entries(path, layout, classes)
    entries = _in_split(gathered, split)
    for column, value in (where or {}).items():
        entries = _where(gathered, entries, column, value)
    called = name or path.resolve().name
    left_out = [note for note in gathered.notes if note.code == "left-out"]
    return Folder(path, gathered.classes, [to_sample(entry, called) for entry in entries], left_out)


def read_entries(path: Path, layout: str = "auto", classes: str | None = None) -> CollectedFolder:
    """Names and table of the folder; its first error is raised."""
    gathered = read_layout(path, layout, classes)
    fault = next((fault for fault in gathered.faults if fault.severity == "error"), None)
    if fault is not None:
        raise FaultError(fault.sentence(), fault)
    return gathered


def read_domain(
    parts: Sequence[tuple[Any, ...]], names: Mapping[Path, str] | None = None, classes: str | None = None
) -> Domain:
    """The parts (fields of `FolderPart`) as one domain; folders of one name are told apart by their parents."""
    if not parts:
        raise failure("no-folder", "the domain", "lists no folder", "name at least one")
    wanted = [FolderPart(*part) for part in parts]
    names = names or distinct_names(part.path for part in wanted)
    folders = [
        read_folder(
            part.path, split=part.split, where=part.where, name=names[part.path], layout=part.layout, classes=classes
        )
        for part in wanted
    ]
    first = folders[0]
    for folder in folders[1:]:
        _same_classes(first, folder)
    samples = [sample for folder in folders for sample in folder.samples]
    _check_unique(samples)
    return Domain(first.classes, samples, [note for folder in folders for note in folder.notes])


def _same_classes(first: Folder, other: Folder) -> None:
    if other.classes == first.classes:
        return
    what = f"has the classes {_spell(other.classes)}, but {first.path} has {_spell(first.classes)}"
    fix = "give all folders of a domain the same classes.yaml"
    if other.classes.names == first.classes.names and other.classes.numbers != first.classes.numbers:
        what = f"numbers its labels in another way than {first.path}"
        fix = "one domain is made of one kind of data set; convert one of them"
    raise failure("other-classes", other.path, what, fix)


def distinct_names(paths: Iterable[Path]) -> dict[Path, str]:
    """The shortest tail of each path that no other folder shares: `train`, or `a/train` and `b/train`."""
    resolved = {path: path.resolve() for path in paths}
    names: dict[Path, str] = {}
    for path, full in resolved.items():
        others = {other.parts for other in resolved.values() if other != full}
        lengths = range(1, len(full.parts) + 1)
        length = next((n for n in lengths if all(other[-n:] != full.parts[-n:] for other in others)), len(full.parts))
        names[path] = "/".join(full.parts[-length:])
    return names


def _in_split(gathered: CollectedFolder, split: str | None) -> list[FolderEntry]:
    if split is None or split == ALL:
        return gathered.entries
    chosen = [entry for entry in gathered.entries if entry.cell("split") == split]
    if not chosen:
        existing = _values(gathered.entries, "split")
        have = f"it has: {', '.join(existing)}" if existing else "it has none"
        fix = f"name one of them, or make parts with `endotransfer data split {gathered.path}`"
        raise failure("empty-split", gathered.path, f"has no image in the split '{split}' ({have})", fix)
    return chosen


def _where(gathered: CollectedFolder, entries: list[FolderEntry], column: str, value: str) -> list[FolderEntry]:
    table = gathered.path / "labels.csv"
    where = table if table.exists() else gathered.path  # a published layout has its columns from elsewhere
    if column not in gathered.columns:
        known = ", ".join(gathered.columns) or "none, there is no labels.csv"
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


def to_sample(entry: FolderEntry, folder: str) -> Sample:
    """The sample of `entry`; `folder` stands for its folder in key and group."""
    key = f"{folder}/{entry.name}"
    group = next((f"{folder}/{kind} {entry.cell(kind)}" for kind in ("patient", "cluster") if entry.cell(kind)), key)
    tag = _TAGS.get(entry.cell("label"), UNKNOWN_TAG)
    return Sample(key, entry.image, entry.mask, tag, entry.cell("finding"), entry.cell("split"), group)


def _check_unique(samples: list[Sample]) -> None:
    seen: set[str] = set()
    for sample in samples:
        if sample.key in seen:
            fix = "list each folder once, or choose parts that do not overlap"
            raise failure("image-twice", sample.image, "is chosen twice in one domain", fix)
        seen.add(sample.key)


def _spell(classes: Classes) -> str:
    ignore = f" (ignore {classes.ignore})" if classes.keeps_ignore else ""
    return f"[{', '.join(classes.names)}]{ignore}"
