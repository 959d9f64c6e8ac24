"""Paths as callers give them: text or `Path`, checked where they come in."""

import os
from collections.abc import Iterable
from pathlib import Path

from endotransfer.errors import ConfigError, DataError, shown

AnyPath = str | os.PathLike[str]


def as_path(value: AnyPath, name: str) -> Path:
    """`value` as a path.  `name`: the argument that it is, for the message."""
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name} is {shown(value)}, which is no path; give text or a pathlib.Path.")
    return Path(value).expanduser()


def as_paths(values: AnyPath | Iterable[AnyPath], name: str) -> list[Path]:
    """One path or several."""
    if isinstance(values, str | os.PathLike):
        return [as_path(values, name)]
    if not isinstance(values, Iterable):
        raise ConfigError(
            f"{name} is {shown(values)}, which is neither a path nor a list of them; give text or a Path."
        )
    return [as_path(value, name) for value in values]


def cache_root() -> Path:
    """$ENDOTRANSFER_CACHE, or ~/.cache/endotransfer: what can be made again at any time, so it may be deleted."""
    return Path(os.environ.get("ENDOTRANSFER_CACHE") or Path.home() / ".cache" / "endotransfer")


def make_cache_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        fix = "set ENDOTRANSFER_CACHE to a folder of yours"
        raise DataError(f"cannot make the cache folder {folder}: {reason.strerror}; {fix}.") from None
