"""Writing the native layout: images/, masks/, labels.csv, classes.yaml.  The whole folder or nothing."""

import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import FaultError
from endotransfer.data.folders.labels_csv import write_labels
from endotransfer.data.importers.import_check import COLUMNS, checked, conclude_import
from endotransfer.data.importers.mask_sources import require_size
from endotransfer.data.importers.records import BINARY, FROM_MASK, ImportReport, Item, Published
from endotransfer.data.pipeline.threads import Progress
from endotransfer.data.read.read_image import ImageReading
from endotransfer.data.read.read_mask import MaskReading
from endotransfer.errors import ConfigError, DataError
from endotransfer.spreadsheet import safe_cell

if TYPE_CHECKING:
    from endotransfer.data.inspect.image_survey import Reading

QUARANTINE = "quarantine.csv"


def require_new(out: Path) -> None:
    """Refuse an output folder that holds something."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} exists and is not empty; nothing is overwritten: give a new folder.")


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out`: it becomes `out` if the block ends well, and vanishes if not."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = out.with_name(f".{out.name}.{secrets.token_hex(4)}.part")
        part.mkdir()  # with the rights that the user's umask leaves
        try:
            yield part
            if out.exists():
                out.rmdir()
            part.rename(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as reason:
        why = reason.strerror or reason
        raise DataError(f"cannot write {out}: {why}; make room or choose another folder.") from reason


def write_native(folder: Path | None, published: Published, progress: Progress | None) -> ImportReport:
    """Write the items of `published`; one that cannot be used is named in `skipped` with the reason.

    Without a `folder` everything is looked at all the same, and nothing written.
    """
    report = ImportReport(skipped=list(published.skipped), guesses=published.guesses, dry_run=folder is None)
    if folder is not None:
        (folder / "images").mkdir()
        (folder / "masks").mkdir()
    readings: dict[str, Reading] = {}
    for done, item in enumerate(published.items, start=1):
        try:
            if item.name.casefold() in readings:
                raise DataError(f"another image is called '{item.name}' too")
            readings[item.name.casefold()] = _take_item(folder, item, published.classes, report)
        except (DataError, ConfigError) as reason:
            report.skipped.append(_why(published, item.shown(), reason))
        if progress is not None:
            progress(done, len(published.items))
    conclude_import(report, list(readings.values()), published)
    if folder is not None:
        _write_tables(folder, [reading.entry.cells for reading in readings.values()], published.classes, report)
    return report


def _write_tables(folder: Path, rows: list[Mapping[str, str]], classes: tuple[str, ...], report: ImportReport) -> None:
    columns = dict.fromkeys([*COLUMNS, *(column for row in rows for column in row)])
    write_labels(folder / "labels.csv", list(columns), rows)
    if classes != BINARY:
        text = yaml.safe_dump({"classes": list(classes)})
        (folder / "classes.yaml").write_text(text, encoding="utf-8")
    if report.skipped:
        left = [line.partition(": ")[::2] for line in report.skipped]
        rows = [{"file": str(safe_cell(file)), "reason": str(safe_cell(reason))} for file, reason in left]
        write_labels(folder / QUARANTINE, ["file", "reason"], rows)


def _take_item(folder: Path | None, item: Item, classes: tuple[str, ...], report: ImportReport) -> "Reading":
    """Look at one image and its mask; write them where they are sound, and count them."""
    picture = item.read()
    height, width = picture.pixels.shape[:2]
    size = (height, width)
    mask = item.mask(size) if item.mask else None
    label = _tag(item, mask, size)
    reading = checked(item, label, picture, mask, classes)
    if folder is not None:
        _write_image(folder, item, picture)
        if mask is not None:
            _write_mask(folder / "masks" / f"{item.name}.png", mask.mask, classes)
    if mask is not None:
        report.count(list(mask.notes))
        report.count([f"the tag '{label}' was taken from the mask"] if item.label == FROM_MASK else [])
    report.count([f"image saved as PNG: {note}" for note in picture.notes or _taken_apart(item)])
    report.images += 1
    report.masks += mask is not None
    report.normal += label == "normal"
    report.lesion += label == "lesion"
    return reading


def _taken_apart(item: Item) -> list[str]:
    return ["one of several pictures in a file"] if item.part and item.part.name else []


def _write_image(folder: Path, item: Item, picture: ImageReading) -> None:
    """Byte for byte where the file is as it should be, else as PNG."""
    if picture.notes or _taken_apart(item):
        Image.fromarray(picture.pixels).save(folder / "images" / f"{item.name}.png")
    else:
        shutil.copyfile(item.image, folder / "images" / f"{item.name}{item.image.suffix.lower()}")


def _tag(item: Item, reading: MaskReading | None, size: tuple[int, int]) -> str:
    """The image's tag, checked against its mask: a set that contradicts itself is not mended by guessing."""
    if reading is None:
        return item.label
    require_size(reading.mask, size)
    seen = "lesion" if reading.mask.any() else "normal"
    if item.label in BINARY and item.label != seen:
        raise DataError(f"the set calls it {item.label} but its mask says {seen}")
    return seen if item.label == FROM_MASK else item.label


def _why(published: Published, image: Path, reason: Exception) -> str:
    """'file: reason', for the faulty file itself where the error knows it."""
    fault = reason.fault if isinstance(reason, FaultError) else None
    file, what = (Path(fault.file), fault.what) if fault else (image, str(reason))
    return f"{published.shown(file)}: {what}"


def _write_mask(path: Path, mask: NDArray[np.uint8], classes: tuple[str, ...]) -> None:
    values = np.where(mask > 0, 255, 0).astype(np.uint8) if len(classes) == 2 else mask
    Image.fromarray(values).save(path)
