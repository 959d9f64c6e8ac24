"""What a training process has said, as far as the page needs it."""

import re
from dataclasses import dataclass
from pathlib import Path

from endotransfer.io import open_regular
from endotransfer.serve.learning.sentences import without_paths

TAIL = 64_000  # bytes; a training says a line an epoch
_STEPS = re.compile(r"\bstep [0-9]+ of ([0-9]{1,12})\b")
_STOPPED = re.compile(r"^(stopped at step |terminated; |interrupted\.)", re.MULTILINE)
_ERROR = re.compile(r"^error: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class JobLog:
    steps: int | None = None  # of the whole run, once it has said so
    stopped: bool = False
    error: str = ""  # one sentence without paths


def read_job_log(path: Path) -> JobLog:
    """The end of a log; that of a process that has said nothing is empty."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            text = file.read(TAIL).decode(errors="replace")
    except OSError:
        return JobLog()
    steps, errors = _STEPS.findall(text), _ERROR.findall(text)
    error = without_paths(errors[-1]) if errors else ""
    return JobLog(int(steps[-1]) if steps else None, _STOPPED.search(text) is not None, error)
