"""What lies in a user's folder beside the sub-folders that an import was told of: it is left out, and said to be."""

from collections.abc import Collection
from pathlib import Path

from endotransfer.data.folders.listing import LITTER, plain_name, printable
from endotransfer.data.importers.tree import walk
from endotransfer.data.read.picture_file import READ_ENDINGS

_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")


def unnamed(source: Path, named: Collection[Path]) -> list[str]:
    """'file: reason' for pictures and tables of `source` in none of the folders `named`."""
    ways = {way for folder in named for way in (folder.resolve(), *folder.resolve().parents)}
    if any(folder.resolve() == source.resolve() for folder in named):
        return []  # all of it is read
    others = [path for path in sorted(source.iterdir()) if path.resolve() not in ways and not _litter(path)]
    return [f"{printable(plain_name(path.name))}: {why}" for path in others if (why := _reason(path))]


def _litter(path: Path) -> bool:
    return path.name.startswith((".", "__MACOSX")) or path.name.lower() in LITTER


def _reason(path: Path) -> str | None:
    if path.is_dir() and not path.is_symlink():
        return "is a folder with pictures that no option names" if walk(path, path).files else None
    if path.suffix.lower() in _TABLES:
        return "is a table, which is not read here; `endotransfer data import table` takes tags and patients from one"
    return "lies beside the folders that are read" if path.suffix.lower() in READ_ENDINGS else None
