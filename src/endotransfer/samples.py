"""One image on disk.  Nothing here needs PyTorch."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from endotransfer.label_values import UNKNOWN_TAG

GROUPINGS = ("patient", "sequence", "cluster")  # columns of labels.csv that tie images together, the widest first


@dataclass(frozen=True)
class Sample:
    """One image of a native folder.  Paths only: nothing is decoded before it is needed."""

    key: str  # "<folder>/<image>", unique within an experiment; names the image in messages and stored maps
    image: Path
    mask: Path | None = None
    tag: int = UNKNOWN_TAG
    finding: str = ""
    split: str = ""
    group: str = ""  # patient, sequence, or cluster of near-duplicates (`group_of`): resampled as one


def group_of(key: str, cell: Callable[[str], str]) -> str:
    """`<folder>/<kind> <name>` by the first of GROUPINGS whose `cell` is filled; the key of an image by itself."""
    folder = key.rpartition("/")[0]
    return next((f"{folder}/{kind} {cell(kind)}" for kind in GROUPINGS if cell(kind)), key)


def group_kind(group: str, key: str) -> str:
    """What `group_of` made a group of: one of GROUPINGS, `image` for a single image, `group` for any other text."""
    if group in ("", key):
        return "image"
    folder = key.rpartition("/")[0]
    return next((kind for kind in GROUPINGS if group.startswith(f"{folder}/{kind} ")), "group")
