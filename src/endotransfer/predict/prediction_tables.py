"""What is said of each picture in numbers: `predictions.csv` for spreadsheets, `predictions.json` for programs."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from endotransfer import __version__
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import DataError
from endotransfer.familiarity.familiarity import warning_of
from endotransfer.io import write_atomically
from endotransfer.predict.prediction import Marks
from endotransfer.predict.regions import Lesion, find_lesions
from endotransfer.predict.shots import Shot
from endotransfer.spreadsheet import safe_cell


class PredictionTables:
    """Both tables; the CSV grows with every picture, the JSON file is written at the end.  Use it as a context."""

    def __init__(self, folder: Path, classes: Sequence[str]) -> None:
        self.csv, self.json = folder / "predictions.csv", folder / "predictions.json"
        self.faults: list[dict[str, object]] = []
        self.warned: list[str] = []  # why pictures are unlike the training images, one reason each
        self.judged = 0  # pictures of which the model could tell
        self._classes = list(classes)
        self._pictures: list[dict[str, object]] = []
        # A name from an old disk may hold bytes that are no text.
        self._file = self.csv.open("w", newline="", encoding="utf-8", errors="backslashreplace")
        self._writer = csv.DictWriter(self._file, self._columns(), lineterminator="\n")
        self._writer.writer.writerow([safe_cell(column) for column in self._columns()])  # classes may be called so

    def __enter__(self) -> "PredictionTables":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()
        content = {
            "note": DISCLAIMER,
            "version": __version__,
            "classes": self._classes,
            "pictures": self._pictures,
            "faults": self.faults,
        }
        write_atomically(self.json, json.dumps(content, indent=1), DataError)

    def __len__(self) -> int:
        return len(self._pictures)

    def add(self, shot: Shot, marks: Marks) -> None:
        if marks.unfamiliarity is not None:
            self.judged += 1
            self.warned += [marks.unfamiliarity.reason] if marks.unfamiliarity.reason else []
        lesions = find_lesions(marks.mask, marks.certainty)
        pixels = np.bincount(marks.mask[marks.mask > 0], minlength=len(self._classes))  # most are 0: counted below
        pixels[0] = marks.mask.size - pixels.sum()
        self._pictures.append(_picture(shot, marks, self._classes, pixels.tolist(), lesions))
        self._writer.writerow(_row(shot, marks, self._classes, pixels.tolist(), lesions))

    def add_fault(self, shot: Shot) -> None:
        self.faults.append({**_whence(shot), "reason": shot.fault})

    def _columns(self) -> list[str]:
        of_classes = [f"{figure}_{name}" for figure in ("share", "area") for name in self._classes]
        first, last = ["name", "file", "frame", "seconds", "lesion_probability"], ["confidence", "lesions", "boxes"]
        return [*first, *of_classes, *last, "unfamiliarity", "unfamiliar"]


def _whence(shot: Shot) -> dict[str, object]:
    place = {} if shot.frame is None else {"frame": shot.frame, "seconds": round(float(shot.time or 0), 6)}
    return {"name": shot.name, "file": shot.file, **place}


def _picture(
    shot: Shot, marks: Marks, classes: list[str], pixels: list[int], lesions: list[Lesion]
) -> dict[str, object]:
    height, width = marks.mask.shape
    return {
        **_whence(shot),
        "width": width,
        "height": height,
        "lesion_probability": None if marks.lesion_probability is None else round(marks.lesion_probability, 6),
        "confidence": round(marks.confidence, 6),
        **warning_of(marks.unfamiliarity),
        "area": dict(zip(classes, pixels, strict=True)),
        "lesions": [
            {
                "class": classes[one.label],
                "box": list(one.box),
                "area": one.area,
                "confidence": round(one.confidence, 6),
            }
            for one in lesions
        ],
    }


def _row(shot: Shot, marks: Marks, classes: list[str], pixels: list[int], lesions: list[Lesion]) -> dict[str, object]:
    tag, total = marks.lesion_probability, marks.mask.size
    row = {key: safe_cell(value) for key, value in _whence(shot).items()}
    row["lesion_probability"] = "" if tag is None else f"{tag:.4f}"
    row |= {f"share_{name}": f"{count / total:.5f}" for name, count in zip(classes, pixels, strict=True)}
    row |= {f"area_{name}": count for name, count in zip(classes, pixels, strict=True)}
    boxes = "; ".join(" ".join(map(str, one.box)) for one in lesions)
    row |= {"confidence": f"{marks.confidence:.4f}", "lesions": len(lesions), "boxes": boxes}
    return row | warning_of(marks.unfamiliarity)
