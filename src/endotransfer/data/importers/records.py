"""What passes between an importer, the writer and the user."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.data.folders.listing import plain_name
from endotransfer.data.read.picture_file import FilePart
from endotransfer.data.read.read_image import ImageReading, read_image_and_notes
from endotransfer.data.read.read_mask import MaskReading

if TYPE_CHECKING:
    from endotransfer.data.inspect.inspection import Inspection

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
    mask_file: Path | None = None  # for messages
    part: FilePart | None = None  # of a file with several pictures, or in a format that only an import reads

    def read(self) -> ImageReading:
        return self.part.read() if self.part else read_image_and_notes(self.image)

    def with_mask(self, mask: MaskMaker) -> "Item":
        return replace(self, mask=mask)

    def shown(self) -> Path:
        """The file as messages name it."""
        return Path(f"{self.image}, {self.part.name}") if self.part and self.part.name else self.image


@dataclass
class Published:
    """The content of a published set."""

    items: list[Item] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # 'file: reason'
    classes: tuple[str, ...] = BINARY
    guesses: list[str] = field(default_factory=list)  # what was assumed without being told, in sentences
    base: Path | None = None  # of a folder in which every file was looked at; messages name files as seen from it

    def shown(self, file: Path) -> str:
        """The file as messages name it: below the base, or with the last of its folders."""
        if self.base is not None:
            return plain_name((file.relative_to(self.base) if file.is_relative_to(self.base) else file).as_posix())
        return f"{file.parent.name}/{file.name}"


@dataclass
class ImportReport:
    """What an import wrote, what it left out and why, and every change it made (change -> how often)."""

    images: int = 0
    masks: int = 0
    normal: int = 0
    lesion: int = 0
    skipped: list[str] = field(default_factory=list)
    conversions: dict[str, int] = field(default_factory=dict)
    patients: int = 0
    guesses: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # 'file: what is odd; how to mend it', of what was taken
    cautions: list[str] = field(default_factory=list)  # about the set as a whole
    dry_run: bool = False  # nothing was written
    inspection: "Inspection | None" = None  # of what was taken

    def count(self, changes: list[str]) -> None:
        for change in changes:
            self.conversions[change] = self.conversions.get(change, 0) + 1

    def __str__(self) -> str:
        made = [f"{change}: {times}" for change, times in sorted(self.conversions.items())]
        known = f", {self.patients} patients" if self.patients else ""
        parts = [
            *(["Nothing was written (dry run); this would be imported:", ""] if self.dry_run else []),
            f"{self.images} images ({self.lesion} lesion, {self.normal} normal){known}, {self.masks} masks",
            *(_listed("Guessed", self.guesses) if self.guesses else []),
            *_listed("Conversions", made, none="none", counted=False),
            *_listed("Left out", self.skipped),
            *(_listed("Odd, but taken", self.warnings) if self.warnings else []),
            *(_listed("Mind", self.cautions, counted=False) if self.cautions else []),
        ]
        return "\n".join(parts)


def _listed(title: str, lines: list[str], none: str = "nothing", *, counted: bool = True) -> list[str]:
    head = none if not lines else str(len(lines)) if counted else ""
    return ["", f"{title}: {head}".rstrip(), *(f"- {line}" for line in lines)]
