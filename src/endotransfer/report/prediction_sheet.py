"""Pictures to compare by eye: image, truth and every system's prediction side by side."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.read_image import read_image
from endotransfer.data.read.read_mask import read_mask
from endotransfer.predict.overlay import overlay
from endotransfer.predict.predictor import Predictor


def prediction_sheet(
    path: Path, samples: Sequence[Sample], classes: Classes, predictors: dict[str, Predictor], title: str = ""
) -> None:
    """A grid: one row an image, first as it is, then with its true mask, then with each system's."""
    columns = ["image", "truth", *predictors]
    figure = Figure(figsize=(1.9 * len(columns), 2.0 * len(samples) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(samples), len(columns), squeeze=False)
    for row, sample in zip(axes, samples, strict=True):
        for cell, picture in zip(row, _row_of(sample, classes, predictors), strict=True):
            cell.imshow(picture)
            cell.set_xticks([])
            cell.set_yticks([])
        row[0].set_ylabel(sample.finding or sample.key, fontsize=9)
    for cell, name in zip(axes[0], columns, strict=True):
        cell.set_title(name.replace("_", "\n"), fontsize=9)
    if title:
        figure.suptitle(title, fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _row_of(sample: Sample, classes: Classes, predictors: dict[str, Predictor]) -> list[NDArray[np.uint8]]:
    pixels = read_image(sample.image)
    truth = read_mask(sample.mask, classes).mask if sample.mask else np.zeros(pixels.shape[:2], np.uint8)
    masks = [predictor.predict(pixels).mask for predictor in predictors.values()]
    return [pixels, *(overlay(pixels, mask) for mask in (truth, *masks))]
