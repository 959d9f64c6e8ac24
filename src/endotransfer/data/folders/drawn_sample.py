"""Images of a folder that were drawn at random to be measured on, kept in `reviewed/sample.yaml`.

What was drawn measures; it must not teach as well, or its IoU says nothing.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.listing import leads_outside
from endotransfer.data.folders.reviewed import FOLDER
from endotransfer.errors import DataError
from endotransfer.io import write_atomically

FILE = "sample.yaml"  # no review can be called so: theirs end in .png and .json


@dataclass(frozen=True)
class Plan:
    """Which images were drawn, out of which, and with which seed."""

    images: list[str]  # names
    drawn_from: str  # "test": the images of that split; "all"
    seed: int
    when: str


def write_plan(folder: Path, plan: Plan) -> None:
    path = _path(folder)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as reason:
        raise DataError(f"cannot make {path.parent}: {reason.strerror}; check space and permissions.") from reason
    write_atomically(path, yaml.safe_dump(asdict(plan), sort_keys=False, allow_unicode=True), DataError)


def read_plan(folder: Path) -> Plan | None:
    """The plan of a folder; None where there is none that can be read."""
    try:
        content = yaml.safe_load(_path(folder).read_text(encoding="utf-8"))
        plan = Plan(**content)
    except (DataError, OSError, ValueError, TypeError, yaml.YAMLError, RecursionError):
        return None
    return plan if isinstance(plan.images, list) and all(isinstance(name, str) for name in plan.images) else None


def _path(folder: Path) -> Path:
    place = folder / FOLDER
    if place.is_symlink() and leads_outside(place, folder):
        raise failure("link-outside", place, "is a link that leaves the folder", "replace it with a folder")
    return place / FILE
