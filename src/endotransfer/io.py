"""Files written whole or not at all, and JSON read with errors that a user understands."""

import errno
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from endotransfer.errors import EndotransferError

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"


def read_json(path: Path, error: type[EndotransferError], fix: str = "restore it from a copy, or remove it") -> JSON:
    """What the JSON file `path` holds.  Absent, unreadable or damaged: `error`, with `fix` as its advice."""
    try:
        content: JSON = json.loads(path.read_text(encoding="utf-8"))
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror or reason}; {fix}.") from reason
    except (ValueError, RecursionError) as reason:
        raise error(f"{path} is damaged: it is not JSON; {fix}.") from reason
    return content


def read_json_object(
    path: Path, error: type[EndotransferError], fix: str = "restore it from a copy, or remove it"
) -> dict[str, JSON]:
    """Like `read_json`, for a file that must hold an object."""
    content = read_json(path, error, fix)
    if not isinstance(content, dict):
        raise error(f"{path} is damaged: it holds no JSON object; {fix}.")
    return content


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
    if os.name == "nt" and path.is_dir():  # Windows opens no folders; its renames need no flush
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
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
