"""The paper's propagation figure: the pseudo-labels of a few target images, epoch by epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from endotransfer.batch import IGNORE, Sample
from endotransfer.data.class_colours import colour_table
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.engine.run_folder import PROPAGATION
from endotransfer.errors import EndotransferError
from endotransfer.report.csv_file import write_csv
from endotransfer.report.page import Section, fill, missing
from endotransfer.report.run_images import RunImages
from endotransfer.report.study import Run, Study, file_name
from endotransfer.report.tiles import IMAGE, Pixels, Tile, TileRow, shrink, write_sheet

EPOCHS = 5  # shown; the CSV has all
SYSTEMS = 6
OPACITY = 0.55
INTRODUCTION = (
    "Which target pixels carried a pseudo-label, and which one, before each epoch. Coloured: labelled; grey: not yet. "
    "The number is the share of the image's pixels that are labelled. The masks under truth were never trained on."
)
NONE_STORED = "No run here stored pseudo-labels: its method makes none, or it was trained by an older version."
Maps = dict[str, dict[int, Pixels]]  # by image, by epoch


@dataclass(frozen=True)
class RunPropagation:
    """What the page shows of one run."""

    label: str
    seed: int
    legend: list[tuple[str, str]]  # name and colour of every class
    rows: list[TileRow]
    notes: list[str]
    files: tuple[str, str]


def propagation_section(study: Study, images: RunImages, folder: Path) -> Section:
    found = [(run, maps) for runs in study.systems().values() for run in runs[:1] if (maps := read_maps(run))]
    if not found:
        return Section("propagation", "Pseudo-labels", missing(NONE_STORED))
    taken: list[str] = []
    shown = []
    for run, maps in found[:SYSTEMS]:
        taken.append(file_name(run.label, taken))
        shown.append(_of_run(run, maps, images, folder, f"propagation-{taken[-1]}"))
    body = fill("propagation.html", introduction=INTRODUCTION, runs=shown)
    return Section("propagation", "Pseudo-labels", body)


def read_maps(run: Run) -> Maps:
    """Every stored map of `run`: uint8 [H, W] by image and epoch.  What cannot be read is passed over."""
    maps: Maps = {}
    root = run.path / PROPAGATION
    for epoch in sorted(root.glob("epoch-*")):
        number = epoch.name.removeprefix("epoch-")
        for path in sorted(epoch.rglob("*.png")) if number.isdigit() else ():
            if not path.is_file():
                continue
            try:
                with Image.open(path, formats=["PNG"]) as image:
                    values = np.asarray(image, dtype=np.uint8)
            except (OSError, SyntaxError, ValueError):
                continue
            if values.ndim == 2:
                maps.setdefault(path.relative_to(epoch).with_suffix("").as_posix(), {})[int(number)] = values
    return maps


def _of_run(run: Run, maps: Maps, images: RunImages, folder: Path, name: str) -> RunPropagation:
    try:
        data = images.of(run)
        samples, classes = {sample.key: sample for sample in data.target}, data.classes
        notes = []
    except EndotransferError as reason:
        samples, classes = {}, None
        notes = [f"The maps stand alone, without their images: {reason}"]
    names = classes.names if classes else tuple(f"class {k}" for k in range(1 + _highest(maps)))
    columns = ("image", "epoch", "labelled", *(f"share_{one}" for one in names))
    write_csv(folder / f"{name}.csv", columns, _table(maps, len(names)))
    rows = [_row(key, by_epoch, samples.get(key), classes, images) for key, by_epoch in maps.items()]
    write_sheet(folder / f"{name}.png", rows)
    return RunPropagation(run.label, run.seed, _legend(names), rows, notes, (f"{name}.png", f"{name}.csv"))


def _row(
    key: str, by_epoch: dict[int, Pixels], sample: Sample | None, classes: Classes | None, images: RunImages
) -> TileRow:
    pixels = _image(sample, images)
    tiles = [] if pixels is None or not images.photographs else [Tile(shrink(pixels), IMAGE)]
    for epoch in spread(list(by_epoch), EPOCHS):
        labels = by_epoch[epoch]
        share = 100 * (labels != IGNORE).mean()
        tiles.append(Tile(spread_labels(labels, pixels), f"epoch {epoch + 1}", f"{share:.0f} %"))
    if pixels is not None and sample is not None and sample.mask is not None and classes is not None:
        truth = read_checked_mask(sample, pixels.shape[:2], classes, keep_contradictions=True).mask
        tiles.append(Tile(spread_labels(truth, pixels), "truth"))
    return TileRow(key, sample.finding if sample else "", tiles)


def spread_labels(labels: Pixels, pixels: Pixels | None) -> Pixels:
    """Labels over the image in grey: colour is where there is a label, so that one sees it spread."""
    shown = shrink(labels, labels=True)
    colours = colour_table()[shown]
    if pixels is None:
        return colours
    base = shrink(pixels)
    if base.shape[:2] != shown.shape:  # the network's size may have another aspect than the image
        size = (base.shape[1], base.shape[0])
        shown = np.asarray(Image.fromarray(labels).resize(size, Image.Resampling.NEAREST))
        colours = colour_table()[shown]
    grey = np.repeat(base.mean(2, keepdims=True), 3, 2)
    labelled = (shown != IGNORE)[..., None]
    return np.where(labelled, (1 - OPACITY) * grey + OPACITY * colours, 0.6 * grey + 30).astype(np.uint8)


def spread(epochs: Sequence[int], most: int) -> list[int]:
    """At most `most` of them, the first and the last included."""
    places = np.linspace(0, len(epochs) - 1, min(most, len(epochs))).round().astype(int)
    return [epochs[place] for place in places]


def _image(sample: Sample | None, images: RunImages) -> Pixels | None:
    try:
        return None if sample is None else images.shown(sample)
    except EndotransferError:
        return None


def _table(maps: Maps, classes: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for key, by_epoch in maps.items():
        for epoch, labels in by_epoch.items():
            counts = np.bincount(labels.ravel(), minlength=IGNORE + 1)
            shares = [float(count / labels.size) for count in counts[:classes]]
            rows.append([key, epoch, float(1 - counts[IGNORE] / labels.size), *shares])
    return rows


def _highest(maps: Maps) -> int:
    return max(int(labels[labels != IGNORE].max(initial=0)) for one in maps.values() for labels in one.values())


def _legend(names: Sequence[str]) -> list[tuple[str, str]]:
    """Which colour is which class."""
    colours = colour_table()
    entries = [(name, colours[k]) for k, name in enumerate(names)] + [("not labelled", colours[IGNORE])]
    return [(name, "#" + "".join(f"{int(part):02x}" for part in colour)) for name, colour in entries]
