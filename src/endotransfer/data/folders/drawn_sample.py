"""A random sample of a folder's images reserved for evaluation, in `reviewed/sample.yaml`.

Reviews of these images are never trained on, or the IoU measured on them would be worthless.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.review_files import reviews_lock
from endotransfer.data.folders.review_masks import reviews_folder
from endotransfer.errors import DataError
from endotransfer.io import read_yaml, write_atomically

FILE = "sample.yaml"  # cannot clash with a review, whose record ends in .json


@dataclass(frozen=True)
class Plan:
    """The images drawn, the set they were drawn from, and the seed."""

    images: list[str]  # names
    drawn_from: str  # "test": the images of that split; "all"
    seed: int
    when: str


_PLAN = TypeAdapter(Plan)


def write_plan(folder: Path, plan: Plan) -> None:
    """Replace the plan; one that cannot be read is never replaced."""
    with reviews_lock(folder):
        read_plan(folder)
        text = yaml.safe_dump(asdict(plan), sort_keys=False, allow_unicode=True)
        write_atomically(reviews_folder(folder) / FILE, text, DataError)


def read_plan(folder: Path) -> Plan | None:
    """The plan of a folder; None where there is none.  One that cannot be read is refused: its images are reserved."""
    path = reviews_folder(folder) / FILE
    try:
        plan = _PLAN.validate_python(read_yaml(path, DataError, "restore it"))
    except FileNotFoundError:
        return None
    except (DataError, ValueError, ValidationError, RecursionError) as reason:
        if not path.parent.is_dir():
            return None
        fix = "restore it from a copy, for training must know which images are reserved for measuring"
        raise failure("bad-sample", path, "cannot be read as a random sample", fix) from reason
    return plan
