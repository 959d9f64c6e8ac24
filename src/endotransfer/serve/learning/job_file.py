"""What is on disk about a training that the viewer began: `retraining/NAME.json` and `NAME.log`, beside the runs."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from endotransfer.config.strict import MOST_STEPS
from endotransfer.errors import ConfigError
from endotransfer.io import open_own, read_json_object, write_atomically

FOLDER = "retraining"
LATEST = 2.0**40
SUFFIX = re.compile(r"-reviewed-[0-9]+$")
# The name of a folder beside the others, never a way to somewhere else.
RunName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]*$")]


class TrainingJob(BaseModel):
    """One training.  Whether it goes on, has ended or has failed is read off its process, its log and its run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    out: RunName  # the run folder that it fills
    before: RunName  # the run whose experiment it is
    reviewed: int = Field(ge=0, le=MOST_STEPS)  # masks that it began with
    began: float = Field(ge=0, le=LATEST, allow_inf_nan=False)  # seconds since 1970
    first_step: int = Field(
        default=0, ge=0, le=MOST_STEPS
    )  # where this sitting began: more than 0 where it was resumed
    pid: int = Field(default=0, ge=0, le=2**31)
    process: str | None = None  # when that process began; None: it never did


class JobFolder:
    """The jobs of all runs that lie beside each other in `runs`."""

    def __init__(self, runs: Path) -> None:
        self.runs, self.path = runs, runs / FOLDER

    def read_all(self) -> list[TrainingJob]:
        """The newest last; a file that cannot be read is none."""
        found = [job for file in sorted(self.path.glob("*.json")) if (job := self._read(file)) is not None]
        return sorted(found, key=lambda job: job.began)

    def write(self, job: TrainingJob) -> None:
        write_atomically(self.path / f"{job.out}.json", job.model_dump_json(indent=2), ConfigError)

    def log_of(self, job: TrainingJob) -> Path:
        return self.path / f"{job.out}.log"

    def run_of(self, job: TrainingJob) -> Path:
        return self.runs / job.out

    def free_name(self, run: str) -> str:
        """`tags-reviewed-1` for `tags`, `tags-reviewed-2` for either: the first that nothing here is called by."""
        stem = SUFFIX.sub("", run)
        names = (f"{stem}-reviewed-{number}" for number in count(1))
        return next(name for name in names if not any(path.exists() for path in self._places(name)))

    def _places(self, name: str) -> tuple[Path, ...]:
        return self.runs / name, self.path / f"{name}.json", self.path / f"{name}.log"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Of two viewers that start something at once one waits for the other."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover  (Windows)
            raise ConfigError("jobs need a lock that this system does not have; train in a terminal instead.") from None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with os.fdopen(open_own(self.path / ".lock"), "w") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                yield
        except OSError as reason:
            raise ConfigError(f"cannot write to {self.path}: {reason.strerror}; check space and permissions.") from None

    @staticmethod
    def _read(file: Path) -> TrainingJob | None:
        try:
            return TrainingJob.model_validate(read_json_object(file, ConfigError))
        except (ConfigError, ValidationError):
            return None
