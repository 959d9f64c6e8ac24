"""Writing the native layout: images/, masks/, labels.csv, classes.yaml.  The whole folder or nothing."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import FaultError
from endotransfer.data.folders.labels_csv import write_labels
from endotransfer.data.importers.mask_sources import require_size
from endotransfer.data.importers.records import BINARY, FROM_MASK, ImportReport, Item, Published
from endotransfer.data.read.read_image import read_image_and_notes
from endotransfer.data.read.read_mask import MaskReading
from endotransfer.errors import DataError

COLUMNS = ("image", "label", "finding", "split", "patient")
Progress = Callable[[int, int], None]


def require_new(out: Path) -> None:
    """Refuse an output folder that holds something."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} exists and is not empty; nothing is overwritten: give a new folder.")


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside `out`: it becomes `out` if the block ends well, and vanishes if not."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part"))
        try:
            yield part
            part.chmod(0o755)
            if out.exists():
                out.rmdir()
            part.rename(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as reason:
        why = reason.strerror or reason
        raise DataError(f"cannot write {out}: {why}; make room or choose another folder.") from reason


def write_native(folder: Path, published: Published, progress: Progress | None) -> ImportReport:
    """Write the items of `published`; one that cannot be used is named in `skipped` with the reason."""
    report = ImportReport(skipped=list(published.skipped))
    (folder / "images").mkdir()
    (folder / "masks").mkdir()
    rows: dict[str, dict[str, str]] = {}
    for done, item in enumerate(published.items, start=1):
        try:
            if item.name.casefold() in rows:
                raise DataError(f"another image is called '{item.name}' too")
            rows[item.name.casefold()] = _write_item(folder, item, published.classes, report)
        except DataError as reason:
            report.skipped.append(_why(item.image, reason))
        if progress is not None:
            progress(done, len(published.items))
    columns = dict.fromkeys([*COLUMNS, *(column for row in rows.values() for column in row)])
    write_labels(folder / "labels.csv", list(columns), list(rows.values()))
    if published.classes != BINARY:
        classes = yaml.safe_dump({"classes": list(published.classes)})
        (folder / "classes.yaml").write_text(classes, encoding="utf-8")
    return report


def _write_item(folder: Path, item: Item, classes: tuple[str, ...], report: ImportReport) -> dict[str, str]:
    """Write one image and its mask, count them, and return its row of labels.csv."""
    picture = read_image_and_notes(item.image)
    height, width = picture.pixels.shape[:2]
    size = (height, width)
    reading = item.mask(size) if item.mask else None  # before anything is written: it may be unusable
    label = _tag(item, reading, size)
    if reading is not None:
        _write_mask(folder / "masks" / f"{item.name}.png", reading.mask, classes)
        report.count(list(reading.notes))
        report.count([f"the tag '{label}' was taken from the mask"] if item.label == FROM_MASK else [])
    if picture.notes:
        Image.fromarray(picture.pixels).save(folder / "images" / f"{item.name}.png")
        report.count([f"image saved as PNG: {note}" for note in picture.notes])
    else:
        shutil.copyfile(item.image, folder / "images" / f"{item.name}{item.image.suffix.lower()}")
    report.images += 1
    report.masks += reading is not None
    report.normal += label == "normal"
    report.lesion += label == "lesion"
    finding = "" if item.label == FROM_MASK and label == "normal" else item.finding
    values = (item.name, label, finding, item.split, item.patient)
    return {**dict(zip(COLUMNS, values, strict=True)), **item.more}


def _tag(item: Item, reading: MaskReading | None, size: tuple[int, int]) -> str:
    """The image's tag, checked against its mask: a set that contradicts itself is not mended by guessing."""
    if reading is None:
        return item.label
    require_size(reading.mask, size)
    seen = "lesion" if reading.mask.any() else "normal"
    if item.label in BINARY and item.label != seen:
        raise DataError(f"the set calls it {item.label} but its mask says {seen}")
    return seen if item.label == FROM_MASK else item.label


def _why(image: Path, reason: DataError) -> str:
    """'folder/file: reason', for the faulty file itself where the error knows it."""
    fault = reason.fault if isinstance(reason, FaultError) else None
    file, what = (Path(fault.file), fault.what) if fault else (image, str(reason))
    return f"{file.parent.name}/{file.name}: {what}"


def _write_mask(path: Path, mask: NDArray[np.uint8], classes: tuple[str, ...]) -> None:
    values = np.where(mask > 0, 255, 0).astype(np.uint8) if len(classes) == 2 else mask
    Image.fromarray(values).save(path)
