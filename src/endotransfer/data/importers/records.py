"""What passes between an importer, the writer and the user."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.read.read_mask import MaskReading

BINARY = ("normal", "lesion")
FROM_MASK = "from mask"

# Made from (height, width) of the image, and only when it is written: a set has thousands of masks.
MaskMaker = Callable[[tuple[int, int]], MaskReading]


@dataclass(frozen=True)
class Item:
    """One image of a published set with its labels."""

    name: str  # in the native layout: the file's name without its ending
    image: Path
    mask: MaskMaker | None  # None: the set has no pixel label for it
    label: str = ""  # lesion, normal, "" (the set does not say) or FROM_MASK
    finding: str = ""
    split: str = ""
    patient: str = ""  # frames that must stay on one side of a split; of a sequence: `more`, column `sequence`
    more: Mapping[str, str] = field(default_factory=dict)  # further columns of labels.csv


@dataclass
class Published:
    """The content of a published set."""

    items: list[Item] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # 'file: reason'
    classes: tuple[str, ...] = BINARY


@dataclass
class ImportReport:
    """What an import wrote, what it left out and why, and every change it made (change -> how often)."""

    images: int = 0
    masks: int = 0
    normal: int = 0
    lesion: int = 0
    skipped: list[str] = field(default_factory=list)
    conversions: dict[str, int] = field(default_factory=dict)

    def count(self, changes: list[str]) -> None:
        for change in changes:
            self.conversions[change] = self.conversions.get(change, 0) + 1

    def __str__(self) -> str:
        made = [f"- {change}: {times}" for change, times in sorted(self.conversions.items())]
        left = [f"- {line}" for line in self.skipped]
        return "\n".join(
            [
                f"{self.images} images ({self.lesion} lesion, {self.normal} normal), {self.masks} masks",
                "",
                f"Conversions: {'' if made else 'none'}".rstrip(),
                *made,
                "",
                f"Left out: {len(left) or 'nothing'}",
                *left,
            ]
        )
