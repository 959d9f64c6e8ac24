"""One `predict` command on its way: where results go, in which form, and what could not be predicted."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image
from rich.console import Console

from endotransfer.predict.coco_writer import CocoWriter
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Marks, mask_pixels
from endotransfer.predict.prediction_tables import PredictionTables
from endotransfer.predict.shots import Shot

Masks = Literal["png", "rle", "polygons", "none"]
PRINTED = 5  # faults of one video; all of them are in predictions.json


@dataclass(frozen=True)
class PredictionJob:
    """Where results go, and which of them are wanted."""

    out: Path
    predictor: ImagePredictor
    batch: int
    masks: Masks | None  # None: PNG for images, nothing for the frames of a video
    overlays: bool
    console: Console
    tables: PredictionTables
    coco: CocoWriter | None

    def write(self, shot: Shot, marks: Marks | None) -> None:
        """Figures and mask of one picture, or its fault."""
        if marks is None:
            self.tables.add_fault(shot)
            return
        self.tables.add(shot, marks)
        self._write_mask(shot, marks)

    def print_faults(self, before: int, most: int | None = PRINTED) -> None:
        """What could not be predicted since there were `before` faults."""
        faults = self.tables.faults[before:]
        lines = [f"not predicted: {fault['reason']}" for fault in faults[:most]]
        if len(faults) > len(lines):
            rest = len(faults) - len(lines)
            lines.append(f"not predicted: {rest} more of {faults[-1]['file']}; see {self.tables.json}")
        for line in lines:
            self.console.print(line, markup=False, soft_wrap=True)

    def warned(self) -> tuple[int, int]:
        """Pictures that could be compared with the training images so far, and those unlike them."""
        return self.tables.judged, len(self.tables.warned)

    def print_warnings(self, before: tuple[int, int], what: str) -> None:
        """One line on pictures since `before` that are unlike the training images, the commonest reasons first."""
        judged, reasons = self.tables.judged - before[0], Counter(self.tables.warned[before[1] :])
        if not reasons:
            return
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        share = 100 * reasons.total() / judged
        self.console.print(
            f"warning: {reasons.total()} of {judged} {what} ({share:.0f} %) are unlike what the model was trained for "
            f"({told}): do not trust their masks; see the column unfamiliar of {self.tables.csv}",
            markup=False, soft_wrap=True,
        )  # fmt: skip

    def _write_mask(self, shot: Shot, marks: Marks) -> None:
        video = shot.frame is not None
        file_name = f"{shot.name}/{shot.frame:06d}" if video else shot.name
        if self.coco is not None:
            self.coco.add(f"{file_name}.png" if video else shot.file, marks)
        elif self.masks == "png" or (self.masks is None and not video):
            path = self.out / "masks" / f"{file_name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask_pixels(marks.mask, len(self.predictor.classes))).save(path)
