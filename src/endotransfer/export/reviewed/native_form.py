"""The native layout: images/, masks/, labels.csv, classes.yaml.  Ready to train on."""

from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.labels_csv import KNOWN_COLUMNS, write_labels
from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage, ReviewedSet
from endotransfer.export.reviewed.write_pictures import write_picture
from endotransfer.label_values import IGNORE

_USUAL = Classes().names


class NativeForm:
    """One image after the other, then `finish`."""

    def __init__(self, folder: Path, reviewed: ReviewedSet) -> None:
        self._folder, self._classes, self._columns = folder, reviewed.classes, reviewed.columns
        self._rows: list[dict[str, str]] = []
        self._undecided = False
        (folder / "images").mkdir()
        (folder / "masks").mkdir()

    def add(self, image: ReviewedImage, pixels: Pixels, mask: Pixels) -> str:
        """Write one image; returns the file with its mask."""
        write_picture(self._folder / "images", image, pixels)
        file = f"masks/{image.name}.png"
        Image.fromarray(mask).save(self._folder / file)
        self._undecided |= bool((mask == IGNORE).any())
        label = tag_of(mask) or image.cells.get("label", "")
        self._rows.append({**image.cells, "image": image.name, "label": label})
        return file

    def finish(self) -> None:
        first = [column for column in KNOWN_COLUMNS if any(column in row for row in self._rows)]
        columns = dict.fromkeys([*first, *self._columns, *(column for row in self._rows for column in row)])
        write_labels(self._folder / "labels.csv", list(columns), self._rows)
        if len(self._classes) > 2 or self._classes.names != _USUAL or self._undecided:
            text = yaml.safe_dump({"classes": list(self._classes.names), "ignore": IGNORE}, allow_unicode=True)
            (self._folder / "classes.yaml").write_text(text, encoding="utf-8")
        else:  # two classes, every pixel decided: black and white, as any program shows them
            for file in (self._folder / "masks").iterdir():
                with Image.open(file, formats=["PNG"]) as saved:
                    values = np.asarray(saved) * np.uint8(255)
                Image.fromarray(values).save(file)


def tag_of(mask: Pixels) -> str:
    """`lesion` or `normal` as the mask says; '' where nothing is marked and something is undecided."""
    if ((mask != 0) & (mask != IGNORE)).any():
        return "lesion"
    return "" if (mask == IGNORE).any() else "normal"
