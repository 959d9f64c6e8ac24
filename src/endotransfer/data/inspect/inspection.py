"""The whole inspection of one folder."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from endotransfer.data.folders.faults import Fault, Note
from endotransfer.data.inspect.duplicates import find_duplicates, split_groups
from endotransfer.data.inspect.fingerprint import Fingerprint, fingerprint
from endotransfer.data.inspect.image_survey import survey
from endotransfer.data.layouts import read_layout
from endotransfer.data.pipeline.threads import in_threads

_SHORTCUT = 0.2  # an overlay so much more frequent under one tag can be learnt instead of the lesion


@dataclass
class Inspection:
    """The result of an inspection.  File names are relative to `path`."""

    path: Path
    fingerprint: Fingerprint
    faults: list[Fault] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

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


def inspect_folder(path: Path) -> Inspection:
    """Look at every file of the folder and list all faults; a broken folder raises nothing."""
    contents = read_layout(path)
    everything = [*contents.entries, *contents.unlisted]
    readings = in_threads(partial(survey, classes=contents.classes), everything)
    listed = readings[: len(contents.entries)]
    numbers = fingerprint(listed, contents.classes)
    duplicates, leaks = find_duplicates(readings)
    faults = [*contents.faults, *(fault for reading in readings for fault in reading.faults)]
    faults += [*leaks, *split_groups(contents.entries)]
    notes = [*contents.notes, *(note for reading in readings for note in reading.notes)]
    notes += _shortcuts(numbers["overlays_by_tag"])
    return Inspection(path, {**numbers, "duplicates": duplicates}, _ordered(faults, path), _merged(notes, path))


def _shortcuts(overlays: dict[str, dict[str, float]]) -> list[Note]:
    notes = []
    for kind, by_tag in overlays.items():
        shares = [by_tag[tag] for tag in ("lesion", "normal") if tag in by_tag]
        if len(shares) == 2 and abs(shares[0] - shares[1]) > _SHORTCUT:
            seen = f"on {shares[0]:.0%} of lesion and {shares[1]:.0%} of normal images"
            what = f"{kind.replace('_', ' ')} was seen {seen}: a network may learn that instead (a hint)"
            notes.append(Note("overlay-shortcut", what))
    return notes


def _ordered(faults: Sequence[Fault], folder: Path) -> list[Fault]:
    """Errors first, then by kind and file; names relative to the folder."""
    named = [replace(fault, file=_relative(fault.file, folder)) for fault in faults]
    return sorted(named, key=lambda fault: (fault.severity, fault.code, fault.file, fault.what))


def _merged(notes: Iterable[Note], folder: Path) -> list[Note]:
    """One note for each kind, with all its files."""
    files: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        files.setdefault((note.code, note.what), []).extend(_relative(file, folder) for file in note.files)
    return [Note(code, what, tuple(sorted(named))) for (code, what), named in sorted(files.items())]


def _relative(file: str, folder: Path) -> str:
    return file.removeprefix(f"{folder}/")
