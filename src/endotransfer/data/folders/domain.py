"""The images of one domain, from one folder or several."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import Note, failure
from endotransfer.data.folders.read_folder import Folder, read_folder
from endotransfer.samples import Sample


@dataclass(frozen=True)
class FolderPart:
    """One folder of a domain, as the experiment names it."""

    path: Path
    split: str | None = None
    where: Mapping[str, str] | None = None
    layout: str = "auto"


@dataclass(frozen=True)
class Domain:
    """The images of one domain, from one folder or several with equal classes."""

    classes: Classes
    samples: list[Sample] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def read_domain(
    parts: Sequence[FolderPart], names: Mapping[Path, str] | None = None, classes: str | None = None
) -> Domain:
    """The images of all `parts` as one domain; folders of the same name are told apart by their parents."""
    if not parts:
        raise failure("no-folder", "the domain", "lists no folder", "name at least one")
    names = names or distinct_names(part.path for part in parts)
    folders = [
        read_folder(
            part.path, split=part.split, where=part.where, name=names[part.path], layout=part.layout, classes=classes
        )
        for part in parts
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
