"""Which names mean what inside the folder of checkpoints."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from endotransfer.errors import CheckpointError

# A kill between the two renames that replace a step leaves only its `.old`: it still counts as that step.
_CHECKPOINT = re.compile(r"step-(?P<step>[0-9]{8,})|\.step-(?P<replaced>[0-9]{8,})\.old")
_UNFINISHED = re.compile(r"\.step-[0-9]{8,}(\.old)?\.part")


def step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def replaced_folder(folder: Path, step: int) -> Path:
    """Where a checkpoint waits while a newer one of the same step takes its place."""
    return folder / f".step-{step:08d}.old"


def unfinished_name(path: Path) -> Path:
    """The name under which `path` is built up or taken down; never read, removed by the next save."""
    return path.with_name(f".{path.name.lstrip('.')}.part")


def step_of(path: Path) -> int | None:
    """The step a name stands for; None for anything that is not a checkpoint."""
    match = _CHECKPOINT.fullmatch(path.name)
    return int(match["step"] or match["replaced"]) if match else None


def newest_first(folder: Path) -> list[tuple[int, Path]]:
    """Every checkpoint by name alone, sound or not; of one step the proper folder comes before the `.old`."""
    found = [(step_of(path), path) for path in _entries(folder)]
    steps = [(step, path) for step, path in found if step is not None]
    return sorted(steps, key=lambda item: (item[0], not item[1].name.startswith(".")), reverse=True)


def list_steps(folder: Path) -> list[int]:
    """The steps saved in `folder`, ascending; by name alone, so a damaged one is listed too."""
    return sorted({step for step, _ in newest_first(folder)})


def unfinished(folder: Path) -> list[Path]:
    """What a killed save left behind."""
    return [path for path in _entries(folder) if _UNFINISHED.fullmatch(path.name)]


def is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def refuse_impostor(path: Path) -> None:
    """A link or a file where a folder belongs is somebody else's: neither followed nor replaced."""
    if path.is_symlink():
        raise CheckpointError(f"{path} is a symbolic link, not a folder; give the folder it points to instead.")
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path} is a file where a folder is needed; move it away or choose another folder.")


@contextmanager
def explaining(action: str, path: Path) -> Iterator[None]:
    """Turn what the operating system says into one sentence (`action` is 'read' or 'write')."""
    try:
        yield
    except OSError as reason:
        where = reason.filename or path
        advice = "see that the disk has room and that the folder and its files are yours to use, then try again."
        raise CheckpointError(f"cannot {action} {where}: {reason.strerror or reason}; {advice}") from reason


def _entries(folder: Path) -> list[Path]:
    with explaining("read", folder):
        refuse_impostor(folder)
        return list(folder.iterdir()) if folder.is_dir() else []
