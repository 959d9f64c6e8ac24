"""Predicted masks as a COCO json file: a region an annotation, as run lengths or as polygons."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from endotransfer.familiarity.familiarity import warning_of
from endotransfer.predict.prediction import Marks, Prediction
from endotransfer.predict.regions import Lesion, Region, find_lesions

Form = Literal["rle", "polygons"]

# Run lengths are packed here and not by pycocotools, which wants the whole image for each region: ten times slower with
# many small ones, and not safe enough to read such files (see data/importers/outlines.py).  Tests compare with it.


class CocoWriter:
    """Grows image by image; `content` is what the file holds.

    Every marked pixel is in exactly one annotation, however small its region: the masks can be had back exactly.
    """

    def __init__(self, classes: list[str], form: Form) -> None:
        self.form = form
        self._images: list[dict[str, object]] = []
        self._annotations: list[dict[str, object]] = []
        self._categories = [{"id": index, "name": name} for index, name in enumerate(classes) if index > 0]

    def add(self, file_name: str, marks: Marks | Prediction) -> None:
        height, width = marks.mask.shape
        image = len(self._images) + 1
        self._images.append(
            {"id": image, "file_name": file_name, "height": height, "width": width, **warning_of(marks.unfamiliarity)}
        )
        for lesion in find_lesions(marks.mask, marks.certainty, smallest=1):
            annotation = region_annotation(lesion, (height, width), self.form)
            score = round(lesion.confidence, 5)
            self._annotations.append(
                {"id": len(self._annotations) + 1, "image_id": image} | annotation | {"score": score}
            )

    def content(self, **info: object) -> dict[str, object]:
        return {
            "info": info,
            "images": self._images,
            "annotations": self._annotations,
            "categories": self._categories,
        }


def region_annotation(lesion: Lesion, size: tuple[int, int], form: Form = "rle") -> dict[str, object]:
    """What COCO says of one region of an image of `size` = (H, W)."""
    return {
        "category_id": lesion.label,
        "segmentation": _segmentation(lesion, size, form),
        "area": lesion.area,
        "bbox": list(lesion.box),
        "iscrowd": 0,
    }


def _segmentation(lesion: Lesion, size: tuple[int, int], form: Form) -> list[list[float]] | dict[str, object]:
    outlines = outlines_of(lesion.region) if form == "polygons" else []
    if len(outlines) == 1:  # two outlines are a region with a hole, which a COCO polygon cannot have
        offset = np.array([lesion.left, lesion.top])
        return [(outlines[0] + offset).ravel().tolist()]
    return {"size": list(size), "counts": pack_runs(runs_of(lesion, size))}


def runs_of(lesion: Lesion, size: tuple[int, int]) -> NDArray[np.int64]:
    """Run lengths of 0, 1, 0, ... down the columns of the whole image."""
    height, _ = size
    columns, rows = np.nonzero(lesion.region.T)  # column by column
    places = (columns + lesion.left) * height + rows + lesion.top
    first = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    starts, ends = places[first], places[np.append(first[1:], len(places)) - 1] + 1
    changes = np.stack([starts, ends], axis=1).ravel()
    runs = np.diff(changes, prepend=0, append=size[0] * size[1])
    return runs if runs[-1] else runs[:-1]  # nothing after a region that holds the last pixel


def pack_runs(runs: NDArray[np.int64]) -> str:
    """COCO's compressed text: from the fourth number on the difference to the number two before, five bits a letter."""
    differences = runs.copy()
    differences[3:] -= runs[1:-2]
    return "".join(letter for value in differences.tolist() for letter in _letters(value))


def _letters(value: int) -> Iterator[str]:
    while True:
        bits = value & 0b11111
        value >>= 5
        done = value == (-1 if bits & 0b10000 else 0)  # the top bit of the last group is the sign
        yield chr((bits if done else bits | 0b100000) + ord("0"))
        if done:
            return


def outlines_of(region: Region) -> list[NDArray[np.float64]]:
    """Closed outlines [N, 2] as x, y in pixels (pixel 0 reaches from 0 to 1), halfway between inside and outside."""
    from skimage.measure import find_contours  # here, because it is slow to import

    padded = np.pad(region, 1).astype(float)
    contours = find_contours(padded, 0.5, fully_connected="high")  # type: ignore[no-untyped-call]
    return [_corners(contour[:-1, ::-1] - 0.5) for contour in contours]


def _corners(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without the points on straight stretches."""
    before, after = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
    turns: Region = before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]
    return points[turns]
