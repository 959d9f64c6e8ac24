"""What is wrong with no single file of a folder, yet makes the figures of a training worthless."""

from collections.abc import Sequence

from endotransfer.data.folders.faults import Note
from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.data.folders.group_columns import unknown_patients


def cautions(entries: Sequence[FolderEntry]) -> list[Note]:
    """Unknown patients, tags of one kind, and masks that only some images have."""
    found = {"no-patient": unknown_patients(entries), "one-kind-of-tag": _one_kind_of_tag(entries)} if entries else {}
    notes = [Note(code, sentence, caution=True) for code, sentence in found.items() if sentence]
    without = [str(entry.image) for entry in entries if entry.mask is None]
    if without and len(without) < len(entries):
        what = "images have no mask: they serve for their tag, or not at all where they have none"
        notes.append(Note("no-mask", what, tuple(without)))
    return notes


def _one_kind_of_tag(entries: Sequence[FolderEntry]) -> str | None:
    kinds = {entry.cell("label") for entry in entries} - {""}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    other = "normal" if kind == "lesion" else "lesion"
    count = sum(bool(entry.cell("label")) for entry in entries)
    return f"all {count} tags are {kind}: without {other} images nothing can be learnt from tags; add some"
