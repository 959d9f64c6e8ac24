"""The one way this project writes a file that must survive: whole or not at all."""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from endotransfer.errors import EndotransferError


def write_atomically(path: Path, content: bytes | str | Callable[[Path], None], error: type[EndotransferError]) -> None:
    """Write `content` (bytes, text, or a function that fills the temporary path) to `path`.

    Temporary file in the same folder, fsync, rename over `path`, fsync of the folder: a kill at any moment leaves
    the old file or the new one.  A full disk or a missing permission raises `error` and leaves the old file.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        temporary = Path(name)
        try:
            if callable(content):
                content(temporary)
            else:
                temporary.write_bytes(content.encode() if isinstance(content, str) else content)
            temporary.chmod(0o644)
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as reason:
        raise error(_explain(path, reason)) from reason


def sync(path: Path) -> None:
    """Make the operating system put a file or folder on the disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _explain(path: Path, reason: OSError) -> str:
    if reason.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"cannot write {path}: the disk is full; free some space and start again with --resume."
    if reason.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"cannot write {path}: no permission for {path.parent}; choose another folder or change its rights."
    return f"cannot write {path}: {reason.strerror or reason}; check the folder and start again."
