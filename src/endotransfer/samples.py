"""One image on disk.  Nothing here needs PyTorch."""

from dataclasses import dataclass
from pathlib import Path

from endotransfer.label_values import UNKNOWN_TAG


@dataclass(frozen=True)
class Sample:
    """One image of a native folder.  Paths only: nothing is decoded before it is needed."""

    key: str  # "<folder>/<image>", unique within an experiment; names the image in messages and stored maps
    image: Path
    mask: Path | None = None
    tag: int = UNKNOWN_TAG
    finding: str = ""
    split: str = ""
    group: str = ""  # patient, or cluster of near-duplicates: resampled and split as one
