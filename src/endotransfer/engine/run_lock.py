"""One process at a time trains in a run folder.  The lock goes with its process, however that ends."""

import os
from pathlib import Path

from endotransfer.errors import ConfigError
from endotransfer.io import open_own

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows, where two runs in one folder are the user's own affair)
    fcntl = None  # type: ignore[assignment]

FILE = ".lock"


class RunLock:
    """Taken with `acquire`, given back with `release`; a process that dies gives it back, too."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle: int | None = None

    def acquire(self) -> None:
        """Refused in one sentence where another process has it.  The folder must exist."""
        if fcntl is None:  # pragma: no cover
            return
        handle = open_own(self._folder / FILE)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            who = f"process {owner}" if owner.isdecimal() else "another process"
            raise ConfigError(
                f"{who} is training in {self._folder}; wait for it, stop it, or choose another --out."
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        self._handle = handle

    def release(self) -> None:
        """The file stays: to remove it would let two processes lock two files of one name."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
