"""The whole inspection of one folder."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from endotransfer.data.folders.faults import Fault, Note
from endotransfer.data.folders.folder_contents import FolderContents
from endotransfer.data.folders.group_columns import with_group
from endotransfer.data.folders.labels_csv import FILE as LABELS_FILE
from endotransfer.data.inspect.cautions import cautions
from endotransfer.data.inspect.duplicates import find_duplicates, split_groups
from endotransfer.data.inspect.fingerprint import Fingerprint, fingerprint
from endotransfer.data.inspect.image_survey import Reading, survey
from endotransfer.data.inspect.shortcuts import overlay_shortcuts, shortcuts
from endotransfer.data.layouts import read_layout
from endotransfer.data.pipeline.threads import Progress, in_threads


@dataclass
class Inspection:
    """The result of an inspection.  File names are relative to `path`."""

    path: Path
    fingerprint: Fingerprint
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def cautions(self) -> list[Note]:
        """What is wrong with no single file, but may make the figures of a training worthless."""
        return [note for note in self.notes if note.caution]

    @property
    def errors(self) -> list[Fault]:
        """The faults that would stop a training, or spoil its figures."""
        return [fault for fault in self.faults if fault.severity == "error"]

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "path": str(self.path),
            "fingerprint": self.fingerprint,
            "faults": [asdict(fault) for fault in self.faults],
            "notes": [{**asdict(note), "files": list(note.files)} for note in self.notes],
        }


def inspect_folder(path: Path, group: str | None = None, progress: Progress | None = None) -> Inspection:
    """Look at every file of the folder and list all faults; a broken folder raises nothing.

    `group`: a column whose equal values belong together, and which stands for the patient where none is known.
    """
    contents = read_layout(path)
    if group is not None:
        contents.entries = with_group(contents.entries, contents.columns, group, path / LABELS_FILE)
    everything = [*contents.entries, *contents.unlisted]
    readings = in_threads(partial(survey, classes=contents.classes), everything, progress)
    return conclude(contents, readings, group)


def conclude(contents: FolderContents, readings: Sequence[Reading], group: str | None = None) -> Inspection:
    """The inspection of `contents` from what was seen in its files; those of unlisted images come last."""
    listed = readings[: len(contents.entries)]
    numbers = fingerprint(listed, contents.classes)
    duplicates, leaks = find_duplicates(readings)
    faults = [*contents.faults, *(fault for reading in readings for fault in reading.faults)]
    faults += [*leaks, *split_groups(contents.entries, group)]
    notes = [*contents.notes, *(note for reading in readings for note in reading.notes), *cautions(contents.entries)]
    notes += [*shortcuts(listed), *overlay_shortcuts(numbers["overlays_by_tag"])]
    path = contents.path
    return Inspection(path, {**numbers, "duplicates": duplicates}, _ordered(faults, path), _merged(notes, path))


def _ordered(faults: Sequence[Fault], folder: Path) -> list[Fault]:
    """Errors first, then by kind and file; names relative to the folder."""
    named = [replace(fault, file=_relative(fault.file, folder)) for fault in faults]
    return sorted(named, key=lambda fault: (fault.severity, fault.code, fault.file, fault.what))


def _merged(notes: Iterable[Note], folder: Path) -> list[Note]:
    """One note for each kind, with all its files; cautions last, where they are read."""
    files: dict[tuple[bool, str, str], list[str]] = {}
    for note in notes:
        named = files.setdefault((note.caution, note.code, note.what), [])
        named.extend(_relative(file, folder) for file in note.files)
    return [Note(code, what, tuple(sorted(named)), caution) for (caution, code, what), named in sorted(files.items())]


def _relative(file: str, folder: Path) -> str:
    return file.removeprefix(f"{folder}/")
