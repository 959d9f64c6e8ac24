"""A random sample of a folder's images reserved for evaluation, in `reviewed/sample.yaml`.

Reviews of these images are never trained on, or the IoU measured on them would be worthless.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.listing import leads_outside
from endotransfer.data.folders.reviewed import FOLDER
from endotransfer.errors import DataError
from endotransfer.io import write_atomically

FILE = "sample.yaml"  # cannot clash with a review, whose files end in .png and .json


@dataclass(frozen=True)
class Plan:
    """The images drawn, the set they were drawn from, and the seed."""

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
