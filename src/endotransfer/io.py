"""Files written whole or not at all, and files of anybody read within limits, with errors that a user understands."""

import errno
import json
import os
import secrets
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import TypeAlias

from endotransfer.errors import EndotransferError, shortened

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"


LARGEST_TEXT = 16 * 2**20  # bytes of a file that people write: experiments, classes, what describes a model
LARGEST_YAML = 2**20  # its reader takes seconds for a megabyte
LARGEST_TABLE = 2**30  # of one that has a line for every image: labels, scores
LARGEST_WEIGHTS = 2**32  # of a model
MOST_VALUES = 200_000  # of a YAML file, each alias counted as what it stands for
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_OWN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
RESTORE = "restore it from a copy, or remove it"
Error: TypeAlias = type[EndotransferError]


def read_bounded(path: Path, error: Error, fix: str = RESTORE, largest: int = LARGEST_TEXT) -> bytes:
    """The bytes of the regular file `path`, at most `largest`; anything else raises `error` with `fix` as its advice.

    A pipe would block for ever and a device never end, so both are refused unopened.  A file that is missing raises
    FileNotFoundError as usual: what that means differs.
    """
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > largest:
                raise error(f"{path} is larger than {largest / 1e6:,.0f} MB, which none of its kind is; {fix}.")
            content = file.read(largest + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as reason:  # ValueError: a path with a NUL
        raise error(f"cannot read {path}: {getattr(reason, 'strerror', None) or reason}; {fix}.") from reason
    if len(content) > largest:  # it grew while it was read
        raise error(f"{path} is larger than {largest / 1e6:,.0f} MB, which none of its kind is; {fix}.")
    return content


def open_regular(path: Path) -> BufferedReader:
    """A file to read from; OSError for anything that is no regular file, which is neither waited for nor opened."""
    _require_regular(path.stat().st_mode)
    file = os.fdopen(os.open(path, _READ), "rb")  # were it exchanged for a pipe just now, nobody waits for a writer
    try:
        _require_regular(os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def open_own(path: Path) -> int:
    """A handle of a lock or a log, which is made where it is missing; no link is followed, no pipe waited for."""
    handle = os.open(path, _OWN, 0o666)
    try:
        _require_regular(os.fstat(handle).st_mode)
    except OSError:
        os.close(handle)
        raise
    return handle


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def read_json(path: Path, error: Error, fix: str = RESTORE, largest: int = LARGEST_TABLE) -> JSON:
    """What the JSON file `path` holds.  Absent, unreadable or damaged: `error`, with `fix` as its advice."""
    try:
        content: JSON = json.loads(read_bounded(path, error, fix, largest).decode("utf-8"))
    except FileNotFoundError as reason:
        raise error(f"cannot read {path}: {reason.strerror}; {fix}.") from reason
    except (ValueError, RecursionError) as reason:
        raise error(f"{path} is damaged: it is not JSON; {fix}.") from reason
    return content


def read_json_object(path: Path, error: Error, fix: str = RESTORE, largest: int = LARGEST_TABLE) -> dict[str, JSON]:
    """Like `read_json`, for a file that must hold an object."""
    content = read_json(path, error, fix, largest)
    if not isinstance(content, dict):
        raise error(f"{path} is damaged: it holds no JSON object; {fix}.")
    return content


def read_yaml(path: Path, error: Error, fix: str) -> object:
    """What the YAML file `path` holds, `error` where it cannot be read; FileNotFoundError where there is none."""
    return parse_yaml(read_bounded(path, error, fix, LARGEST_YAML), str(path), error, fix)


def parse_yaml(content: bytes | str, where: str, error: Error, fix: str) -> object:
    """What a YAML text holds; a few lines of aliases that stand for billions of values are refused unbuilt."""
    import yaml

    loader = None
    try:
        loader = yaml.SafeLoader(content)
        node = loader.get_single_node()
        if node is None:
            return None
        if _count_values(node, {}) > MOST_VALUES:
            raise error(f"{where} stands for more than {MOST_VALUES:,} values; {fix}.")
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as reason:  # ValueError: a date such as 2020-13-01
        raise error(f"{where} is not valid YAML ({shortened(' '.join(str(reason).split()), 300)}); {fix}.") from None
    finally:
        if loader is not None:
            loader.dispose()


def _count_values(node: object, known: dict[int, int]) -> int:
    """How many values a YAML node stands for, each alias written out; RecursionError where one contains itself."""
    if isinstance(node, tuple):  # key and value
        return _count_values(node[0], known) + _count_values(node[1], known)
    inside = getattr(node, "value", None)
    if not isinstance(inside, list):
        return 1
    if id(node) not in known:
        known[id(node)] = -1
        known[id(node)] = 1 + sum(_count_values(part, known) for part in inside)
    if known[id(node)] < 0:
        raise RecursionError("it contains itself")
    return known[id(node)]


def write_atomically(path: Path, content: bytes | str | Callable[[Path], None], error: type[EndotransferError]) -> None:
    """Write `content` (bytes, text, or a function that fills the temporary path) to `path`.

    Temporary file in the same folder, fsync, rename over `path`, fsync of the folder: a kill at any moment leaves
    the old file or the new one.  A full disk or a missing permission raises `error` and leaves the old file.
    """
    try:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        temporary.touch(exist_ok=False)  # with the rights that the user's umask leaves
        try:
            if callable(content):
                content(temporary)
            else:
                temporary.write_bytes(content.encode() if isinstance(content, str) else content)
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


def sync_file_system(path: Path) -> None:
    """Put everything on the disk that was written to the file system of `path`, however many files that are."""
    import ctypes

    handle = os.open(path, os.O_RDONLY)
    try:
        ctypes.CDLL(None).syncfs(handle)
    except (AttributeError, OSError):  # another C library: all file systems, then
        os.sync()
    finally:
        os.close(handle)


def _explain(path: Path, reason: OSError) -> str:
    if reason.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"cannot write {path}: the disk is full; free some space and start again with --resume."
    if reason.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"cannot write {path}: no permission for {path.parent}; choose another folder or change its rights."
    return f"cannot write {path}: {reason.strerror or reason}; check the folder and start again."
