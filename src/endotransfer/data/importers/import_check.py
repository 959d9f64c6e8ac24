"""What is about to be imported, seen by the checker of `data inspect`: a fault is not laundered by a conversion.

The checker is imported when it is used: a list of importers must not wait for it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.folders.folder_contents import FolderContents, FolderEntry
from endotransfer.data.importers.records import FROM_MASK, ImportReport, Item, Published
from endotransfer.data.read.read_image import ImageReading
from endotransfer.data.read.read_mask import MaskReading

if TYPE_CHECKING:
    from endotransfer.data.inspect.image_survey import Reading

COLUMNS = ("image", "label", "finding", "split", "patient")


def checked(
    item: Item, label: str, picture: ImageReading, mask: MaskReading | None, classes: tuple[str, ...]
) -> "Reading":
    """What inspection finds in the item; its first error is raised."""
    from endotransfer.data.inspect.image_survey import Reading, take_image, take_mask

    finding = "" if item.label == FROM_MASK and label == "normal" else item.finding
    values = (item.name, label, finding, item.split, item.patient)
    cells = {**dict(zip(COLUMNS, values, strict=True)), **item.more}
    reading = Reading(FolderEntry(item.name, item.shown(), item.mask_file or (item.shown() if mask else None), cells))
    take_image(reading, picture)
    if mask is not None:
        take_mask(reading, mask, Classes(classes))
    fault = next((fault for fault in reading.faults if fault.severity == "error"), None)
    if fault is not None:
        raise FaultError(fault.sentence(), fault)
    return reading


def conclude_import(report: ImportReport, readings: "list[Reading]", published: Published) -> None:
    """Add to `report` what is odd about the images that are taken, one by one and as a set."""
    from endotransfer.data.inspect.inspection import conclude

    entries = [reading.entry for reading in readings]
    contents = FolderContents(published.base or Path(), Classes(published.classes), list(COLUMNS), entries)
    inspection = report.inspection = conclude(contents, readings)
    report.patients = inspection.fingerprint["patients"]
    report.warnings += [f"{published.shown(Path(one.file))}: {one.what}; {one.fix}" for one in inspection.faults]
    report.cautions += [note.what for note in inspection.cautions]
    for note in inspection.notes:
        if note.code == "no-mask":
            some = ", ".join(published.shown(Path(file)) for file in note.files[:3]) + (
                ", ..." if len(note.files) > 3 else ""
            )
            report.cautions.append(f"{len(note.files)} {note.what} ({some})")
