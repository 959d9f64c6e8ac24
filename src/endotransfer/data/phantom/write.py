"""The phantom on disk: one native folder (images, masks, labels.csv) for each domain."""

import csv
import io
import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml
from PIL import Image

from endotransfer.data.phantom.domains import DOMAINS, IMAGES_PER_PATIENT
from endotransfer.data.phantom.generate import CLASSES, SMALLEST, VARIANTS, known, render
from endotransfer.errors import ConfigError, DataError
from endotransfer.io import write_atomically

SOURCE = "gastroscopy"  # the domain in which, as in the paper, a part of the images has a tag and no mask
WORTH_A_POOL = 64  # fewer images are drawn sooner than two processes start
TAGS = ("normal", "lesion")


@dataclass(frozen=True)
class _Task:
    folder: Path
    domain: str
    index: int
    seed: int
    size: int
    variant: str
    masked: bool


def write_phantom(
    out: Path,
    images: int,
    seed: int,
    size: int = 128,
    variant: str = "lesion",
    domains: tuple[str, ...] = tuple(DOMAINS),
    processes: int | None = None,
    tag_only: float = 0.5,
) -> list[Path]:
    """Write `images` images of each domain under `out`, which must be empty; returns one native folder a domain.

    In the variant `lesion` a share `tag_only` of the gastroscopy images gets no mask file; in `five_class` every image
    has its mask, no image a tag.  `processes` (None: two, where it pays) changes the time taken and not one byte; a
    script that asks for more than one must be importable, that is, do its own work under `if __name__ == "__main__"`.
    """
    out = Path(out)
    _check(images, size, variant, domains, processes, tag_only)
    folders = _fresh_folders(out, domains)
    tasks = [
        _Task(folder, folder.name, index, seed, size, variant, not _tag_only(folder.name, index, variant, tag_only))
        for folder in folders
        for index in range(images)
    ]
    rows = _each(_write_one, tasks, processes)
    for number, folder in enumerate(folders):
        _write_tables(folder, rows[number * images : (number + 1) * images], variant)
    return folders


def split_of(index: int) -> str:
    """Every third patient is for testing, so that no patient is on both sides."""
    return "test" if index // IMAGES_PER_PATIENT % 3 == 1 else "train"


def _tag_only(domain: str, index: int, variant: str, share: float) -> bool:
    """Whole pairs of one normal and one lesion image lose their masks, spread evenly: both tags keep the same share."""
    pair = index // 2
    return domain == SOURCE and variant == "lesion" and int((pair + 1) * share) > int(pair * share)


def _write_one(task: _Task) -> dict[str, str]:
    """Render and save one image; returns its row of labels.csv."""
    made = render(task.domain, task.index, task.seed, task.size, task.variant)
    name = f"{task.index:04d}"
    mask = made.mask * 255 if task.variant == "lesion" else made.mask
    _save(Image.fromarray(made.image), task.folder / "images" / f"{name}.png")
    if task.masked:
        _save(Image.fromarray(mask), task.folder / "masks" / f"{name}.png")
    label = {"label": TAGS[made.tag]} if task.variant == "lesion" else {}
    return {
        "image": name,
        **label,
        "finding": made.finding,
        "patient": made.patient,
        "split": split_of(task.index),
    }


def _save(picture: Image.Image, path: Path) -> None:
    try:
        picture.save(path, compress_level=1)
    except OSError as reason:
        why = reason.strerror or str(reason)
        raise DataError(f"cannot write {path}: {why}; free some space or choose another folder.") from reason


def _each(work: Callable[[_Task], dict[str, str]], tasks: list[_Task], processes: int | None) -> list[dict[str, str]]:
    """`work` on every task, in order.  Workers are spawned: a fork would copy the locks of a process with threads."""
    wanted = processes or (min(2, os.cpu_count() or 1) if len(tasks) >= WORTH_A_POOL else 1)
    if wanted == 1:
        return [work(task) for task in tasks]
    with ProcessPoolExecutor(wanted, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(work, tasks, chunksize=16))


def _write_tables(folder: Path, rows: list[dict[str, str]], variant: str) -> None:
    """labels.csv last of all: a folder that has one is whole."""
    if variant == "five_class":
        classes = yaml.safe_dump({"classes": list(CLASSES)}, default_flow_style=None)
        write_atomically(folder / "classes.yaml", classes, DataError)
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(folder / "labels.csv", text.getvalue(), DataError)


def _fresh_folders(out: Path, domains: Iterable[str]) -> list[Path]:
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise DataError(f"{out} is not an empty folder, and the phantom overwrites nothing; name a new one.")
    folders = [out / domain for domain in domains]
    try:
        for folder in folders:
            (folder / "images").mkdir(parents=True)
            (folder / "masks").mkdir()
    except OSError as reason:
        raise DataError(f"cannot make {reason.filename}: {reason.strerror}; choose another folder.") from reason
    return folders


def _check(
    images: int, size: int, variant: str, domains: tuple[str, ...], processes: int | None, tag_only: float
) -> None:
    """Refuse invalid arguments before the first file is written."""
    known("variant", variant, VARIANTS)
    for domain in domains:
        known("domain", domain, DOMAINS)
    at_least = {
        "images": (images, 1),
        "size": (size, SMALLEST),
        "processes": (1 if processes is None else processes, 1),
    }
    for name, (value, least) in at_least.items():
        if value < least:
            raise ConfigError(f"the phantom cannot be written with {name} = {value}; it must be at least {least}.")
    if not 0 <= tag_only <= 1:
        raise ConfigError(f"the phantom cannot be written with tag_only = {tag_only}; it is a share from 0 to 1.")
