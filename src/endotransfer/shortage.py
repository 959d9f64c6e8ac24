"""Errors that mean the machine has not enough of something: memory, open files, processes."""

import errno
import re

from endotransfer.errors import EndotransferError

_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad_alloc|failed to map segment|"
    r"unable to mmap|alloc_cpu|No space left on device.*shm|bus error",
    re.IGNORECASE,
)
_FILES = re.compile(r"too many open files|ancdata", re.IGNORECASE)
_PROCESSES = re.compile(r"can't start new thread|resource temporarily unavailable", re.IGNORECASE)
_FIXES = {
    "memory": "choose smaller batches or images (training.batch_source, data.size), `data.cache: never`, "
    "or fewer training.workers",
    "open files": "raise the limit (`ulimit -n 4096`), or set training.workers=0",
    "processes and threads": "raise the limit (`ulimit -u`), or set training.workers=0 and OMP_NUM_THREADS=1",
}


class ShortageError(EndotransferError):
    """The machine has not enough of something for what was asked."""

    exit_code = 6


def shortage(error: BaseException) -> ShortageError | None:
    """The sentence for an error that a shortage caused; None for any other."""
    what = _lacking(error)
    return None if what is None else ShortageError(f"the machine has not enough {what} left for this; {_FIXES[what]}.")


def _lacking(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN):
        return {errno.ENOMEM: "memory", errno.EAGAIN: "processes and threads"}.get(error.errno, "open files")
    if isinstance(error, RuntimeError | ImportError | OSError | SystemError):
        text = str(error)
        kinds = (("memory", _MEMORY), ("open files", _FILES), ("processes and threads", _PROCESSES))
        return next((what for what, pattern in kinds if pattern.search(text)), None)
    return None
