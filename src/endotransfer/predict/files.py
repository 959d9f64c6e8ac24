"""Predict files and folders: `masks/`, `overlays/` and `predictions.csv`.  A file that cannot be read is reported."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from skimage.segmentation import find_boundaries

from endotransfer.batch import IGNORE
from endotransfer.data.images import read_image
from endotransfer.engine.log import progress_bar
from endotransfer.errors import DataError
from endotransfer.predict.predictor import Prediction, load

ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"}
COLOURS = np.array(  # of the classes from 1 on, and from the start again after the last
    [
        [0, 200, 255], [255, 170, 0], [180, 80, 255], [90, 230, 90], [255, 80, 140],
        [255, 255, 80], [60, 110, 255], [200, 140, 90], [0, 160, 130], [255, 255, 255],
    ],
    dtype=np.uint8,
)  # fmt: skip


def predict_files(run: Path, inputs: Iterable[Path], out: Path, console: Console | None = None) -> Path:
    """Write masks, overlays and a table for every image of `inputs`; returns the table's path."""
    console = console or Console()
    files = list_images(list(inputs))
    if out.exists() and any(out.iterdir()):
        raise DataError(f"{out} is not empty; choose another --out, nothing is overwritten.")
    predictor = load(run)
    for name in ("masks", "overlays"):
        (out / name).mkdir(parents=True, exist_ok=True)
    rows, failed = [], []
    with progress_bar(console, shown=True) as bar:
        task = bar.add_task("predicting", total=len(files), note="")
        for name, file in files.items():
            try:
                pixels = read_image(file)
                prediction = predictor.predict(pixels)
            except DataError as reason:
                failed.append(str(reason))
            else:
                _write(out, name, pixels, prediction, binary=len(predictor.classes) == 2)
                rows.append(_row(name, file, prediction, predictor.classes))
            bar.advance(task)
    table = out / "predictions.csv"
    _write_table(table, rows, predictor.classes)
    for fault in failed:
        console.print(f"not predicted: {fault}", markup=False, soft_wrap=True)
    if not rows:
        raise DataError(f"none of the {len(files)} images could be predicted; the first reason: {failed[0]}")
    console.print(f"{len(rows)} of {len(files)} images predicted; see {table}", markup=False, soft_wrap=True)
    return table


def list_images(inputs: Sequence[Path]) -> dict[str, Path]:
    """Images by the name of their outputs: files as they are, folders by their image files."""
    found: dict[str, Path] = {}
    for given in inputs:
        entry = given
        if not entry.exists():
            raise DataError(f"there is no {entry}; give image files or folders of images.")
        files = [entry]
        if (entry / "images").is_dir():  # a folder in the native layout: its masks are not for predicting
            entry = entry / "images"
        if entry.is_dir():
            files = sorted(f for f in entry.rglob("*") if f.suffix.lower() in ENDINGS and f.is_file())
        for file in files:
            name = "-".join(file.relative_to(entry).with_suffix("").parts) if entry.is_dir() else file.stem
            while name in found:  # two folders may hold the same name; neither result is lost
                name += "_"
            found[name] = file
    if not found:
        raise DataError(f"no image in {', '.join(map(str, inputs))}; known endings: {', '.join(sorted(ENDINGS))}.")
    return found


def overlay(pixels: NDArray[np.uint8], mask: NDArray[np.uint8], opacity: float = 0.35) -> NDArray[np.uint8]:
    """The image with each class but 0 tinted and outlined; what nobody labelled stays as it is."""
    shown = (mask != 0) & (mask != IGNORE)
    colour = COLOURS[np.where(shown, (mask - 1) % len(COLOURS), 0)]
    tinted = np.where(shown[..., None], (1 - opacity) * pixels + opacity * colour, pixels)
    edge = find_boundaries(mask, mode="inner") & shown
    tinted[edge] = colour[edge]
    return tinted.astype(np.uint8)


def _write(out: Path, name: str, pixels: NDArray[np.uint8], prediction: Prediction, *, binary: bool) -> None:
    mask = prediction.mask * np.uint8(255) if binary else prediction.mask
    Image.fromarray(mask).save(out / "masks" / f"{name}.png")
    Image.fromarray(overlay(pixels, prediction.mask)).save(out / "overlays" / f"{name}.png")


def _row(name: str, file: Path, prediction: Prediction, classes: list[str]) -> dict[str, object]:
    tag = prediction.lesion_probability
    shares = np.bincount(prediction.mask.ravel(), minlength=len(classes)) / prediction.mask.size
    row: dict[str, object] = {
        "name": name,
        "file": str(file),
        "lesion_probability": "" if tag is None else f"{tag:.4f}",
    }
    row |= {f"share_{label}": f"{share:.5f}" for label, share in zip(classes, shares, strict=True)}
    return row | {"confidence": f"{prediction.confidence:.4f}"}


def _write_table(path: Path, rows: list[dict[str, object]], classes: list[str]) -> None:
    columns = ["name", "file", "lesion_probability", *(f"share_{label}" for label in classes), "confidence"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
