"""Find folders, images and the mask of each image in an unpacked download."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from endotransfer.data.folders.group_columns import letters
from endotransfer.data.folders.listing import LITTER, SUFFIXES, plain_name, why_unread
from endotransfer.data.importers.mask_sources import from_file
from endotransfer.data.importers.records import Item, Published
from endotransfer.errors import DataError

SEARCH_DEPTH = 2  # archives unpack into a folder of their own, sometimes into two


def natural(path: Path) -> list[tuple[int, str]]:
    """A sorting key in which the numbers inside a name count as numbers: 2 before 10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]


def pictures(folder: Path) -> list[Path]:
    """The pictures directly in `folder`, in order, without the hidden files that archives carry along."""
    files = (path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
    return sorted((path for path in files if not path.name.startswith(".")), key=natural)


def folders(folder: Path) -> list[Path]:
    """The sub-folders of `folder`, in order, without those that archive programmes leave behind."""
    children = (child for child in folder.iterdir() if child.is_dir())
    return sorted((child for child in children if not child.name.startswith((".", "__MACOSX"))), key=natural)


def subfolder(folder: Path, *names: str) -> Path | None:
    """The sub-folder called by the first fitting name, whatever its capitals (mirrors of a set differ)."""
    children = {child.name.casefold(): child for child in folders(folder)}
    return next((children[name.casefold()] for name in names if name.casefold() in children), None)


def set_folders(source: Path, *expected: str) -> list[Path]:
    """The `expected` sub-folders, all of them in `source` or in one folder inside it."""
    for level in _levels(source):
        candidates = ([subfolder(folder, name) for name in expected] for folder in level)
        complete = [[path for path in paths if path] for paths in candidates if all(paths)]
        if len(complete) > 1:
            names = ", ".join(f"'{paths[0].parent.relative_to(source)}'" for paths in complete)
            raise DataError(f"{source} holds several copies of the set ({names}); give one of them.")
        if complete:
            return complete[0]
    raise missing(source, *expected)


def missing(
    source: Path, *expected: str, option: str = "", known: Collection[str] = (), near: Sequence[str] = ()
) -> DataError:
    """The error for a download that is not laid out as published: what was expected, what is there.

    `option`: the one that names another folder, where there is one for it; `known`: what such a folder may be called;
    `near`: what is meant where none is called so.
    """
    inside = sorted(child.name for child in source.iterdir() if not child.name.startswith("."))
    shown = ", ".join(f"'{name}'" for name in inside[:8]) + (", ..." if len(inside) > 8 else "")
    wanted = " and ".join(f"'{name}'" for name in expected)
    holds = shown or "nothing"
    there = [child.name for child in folders(source)] if option else []
    found = [name for name in there if letters(name) in known] + get_close_matches(expected[0], there, n=1)
    hint = f"did you mean --{option} {[*found, *near][0]}?" if found or near else "give the folder that does."
    return DataError(f"{source} should hold {wanted} but holds {holds}; {hint}")


def add_pairs(
    published: Published,
    images: Path,
    masks: Path,
    describe: Callable[[Path], Item],
    mask_stem: Callable[[str], str] = lambda stem: stem,
) -> None:
    """Add every picture of `images` with its mask; name what lacks its partner on either side.

    `describe` turns a picture into an item without a mask; `mask_stem` turns its stem into the mask's.
    """
    waiting = {plain_name(path.stem): path for path in pictures(masks)}
    for image in pictures(images):
        mask = waiting.pop(mask_stem(plain_name(image.stem)), None)
        if mask is None:
            published.skipped.append(f"{images.name}/{image.name}: no mask in {masks.name}")
        else:
            item = replace(describe(image), mask=from_file(mask, published.classes), mask_file=mask)
            published.items.append(item)
    published.skipped += [f"{masks.name}/{mask.name}: no image in {images.name}" for mask in waiting.values()]


def _levels(source: Path) -> Iterator[list[Path]]:
    level = [source]
    for _ in range(SEARCH_DEPTH + 1):
        yield level
        level = [child for folder in level for child in folders(folder)]


def unread_beside(items: Sequence[Item]) -> list[str]:
    """'file: reason' for everything that lies among the images and is not read."""
    known = {file for item in items for file in (item.image, item.mask_file) if file is not None}
    used = {folder for file in known for folder in file.parents}
    left = []
    for folder in sorted({item.image.parent for item in items}):
        for path in sorted(folder.iterdir()):
            if path in used or path.suffix.lower() in SUFFIXES or path.name.lower() in LITTER:
                continue
            if not path.name.startswith((".", "__MACOSX")) and (reason := _unread(path)):
                left.append(f"{folder.name}/{path.name}: {reason}")
    return left


def _unread(path: Path) -> str | None:
    if not path.is_dir():
        return why_unread(path)
    holds = any(file.suffix.lower() in SUFFIXES for file in path.rglob("*"))
    return "is a sub-folder with pictures, which are not read here" if holds else None
