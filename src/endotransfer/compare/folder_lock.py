"""A lock on a folder that goes with its process, however that ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from endotransfer.errors import ConfigError
from endotransfer.io import open_own

LOCK = ".lock"


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Two benchmarks must not train in one folder."""
    try:
        import fcntl
    except ImportError:
        raise ConfigError(
            "benchmarks and sweeps lock their folder as Linux and macOS do, and this system cannot; use one of those, "
            "or WSL on Windows (`train` needs no lock)."
        ) from None
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = open_own(out / LOCK)
    except OSError as reason:
        raise ConfigError(f"cannot use {out}: {reason.strerror} ({LOCK}); choose another --out.") from None
    with os.fdopen(handle, "w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"another benchmark is at work in {out}; wait for it, or choose another --out.") from None
        yield
