"""A folder that is in no layout of ours, inspected as an import would read it."""

from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.data.folders.faults import Fault, Note
from endotransfer.data.folders.listing import printable
from endotransfer.data.importers.intake import Facts, Intake, say_masks, say_patients
from endotransfer.data.importers.mask_index import MaskIndex, mask_files
from endotransfer.data.importers.native_writer import write_native
from endotransfer.data.importers.patients import patient_by
from endotransfer.data.importers.records import FROM_MASK, Published
from endotransfer.data.importers.table import table
from endotransfer.data.importers.tree import Tree, walk
from endotransfer.data.pipeline.threads import Progress
from endotransfer.errors import DataError

if TYPE_CHECKING:
    from endotransfer.data.inspect.inspection import Inspection


def preview(folder: Path, group: str | None = None, progress: Progress | None = None) -> "Inspection | None":
    """What an import would find below `folder`, by the one table of tags in it if there is one; None: no picture."""
    from endotransfer.data.inspect.inspection import Inspection

    tree = walk(folder, folder)
    if not tree.files:
        return None
    tables = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in (".csv", ".tsv")]
    published, unread = _by_table(tables, group)
    told = "table" if published else "folders"
    if published is None:
        published = _by_names(tree)
        published.guesses += unread
    report = write_native(None, published, progress)
    assert report.inspection is not None
    how = f"import it: `endotransfer data import {told} --help`"
    raw = Fault(
        "not-imported", str(folder), "is not laid out as training reads it (below: what an import would find)", how
    )
    faults = [raw, *(_left_out(line) for line in report.skipped), *report.inspection.faults]
    notes = [Note("guess", guess) for guess in published.guesses]
    return Inspection(folder, report.inspection.fingerprint, faults, [*notes, *report.inspection.notes])


def _by_table(tables: list[Path], group: str | None) -> tuple[Published | None, list[str]]:
    """What the only table says, or why none was followed."""
    if len(tables) != 1:
        names = ", ".join(printable(path.name) for path in tables[:3])
        return None, [f"of {len(tables)} tables ({names}) none was followed; import the right one"] if tables else []
    try:
        return table(tables[0], patient=group or ""), []
    except DataError as reason:
        if group is not None:
            raise
        return None, [f"the table was not followed, perhaps it is one of something else: {reason}"]


def _by_names(tree: Tree) -> Published:
    """Without a table: patients by folder, masks by the folders that are called so, or by their own names."""
    published = Published(skipped=list(tree.left), base=tree.base)
    masks = mask_files(tree)
    index = MaskIndex((tree.relative(file), file) for file in tree.files if file in masks)
    images = [file for file in tree.files if file not in masks]
    patient = patient_by("", map(tree.relative, images))
    Intake(published, tree, index, lambda path: Facts(FROM_MASK, "", patient(path))).add(images)
    say_masks(published, index, tree)
    say_patients(published, "the sub-folder")
    return published


def _left_out(line: str) -> Fault:
    file, _, reason = line.partition(": ")
    return Fault("left-out", file, reason, "an import leaves it out", "warning")
