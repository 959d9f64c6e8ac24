"""The part of the Python interface that is about folders of images: inspect, import, split, export, generate.

Like `api`, which offers these functions too, it imports heavy libraries when a function is called.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from endotransfer.paths import AnyPath, as_path

if TYPE_CHECKING:
    from endotransfer.data.folders.split import Counts
    from endotransfer.data.importers import ImportReport
    from endotransfer.data.inspect import Inspection
    from endotransfer.export.reviewed import ExportReport, Form

Progress = Callable[[int, int], None]  # (done, of how many)


def inspect_folder(folder: AnyPath, *, group: str | None = None, progress: Progress | None = None) -> "Inspection":
    """Look at every file of a folder; returns its statistics, and every fault with its file and fix.

    A folder in no layout that training reads is looked at as an import would read it.
    `group`: a column whose equal values belong to one patient.  `progress(done, total)` is called after every image.
    """
    from endotransfer.data.inspect import inspect_folder as inspect
    from endotransfer.data.layouts import is_data_folder

    where = as_path(folder, "the folder")
    if where.is_dir() and not is_data_folder(where):
        from endotransfer.data.importers.preview import preview

        if (seen := preview(where, group, progress)) is not None:
            return seen
    return inspect(where, group, progress)


def import_dataset(
    name: str, source: AnyPath, out: AnyPath | None, /, *, progress: Progress | None = None, dry_run: bool = False,
    **options: str,
) -> "ImportReport":  # fmt: skip
    """Convert the data set `name` at `source`, public or your own, to the native layout at `out` (new or empty).

    `progress(done, total)` is called after every image; `options` are the importer's own.  `dry_run`: everything is
    looked at and nothing written; `out` may be None.
    """
    from endotransfer.data.importers import import_dataset as convert

    to = None if out is None else as_path(out, "out")
    return convert(name, as_path(source, "source"), to, progress=progress, dry_run=dry_run, **options)


def split_folder(
    folder: AnyPath, test_share: float = 1 / 3, seed: int = 0, *, force: bool = False, group: str | None = None,
    say: Callable[[str], None] | None = None,
) -> "Counts":  # fmt: skip
    """Divide a folder into train and test, with all images of a patient and near-duplicates on one side.

    Returns the number of images, groups and tags of each part.  `group`: a column whose equal values stay together;
    `say` is told what to mind, such as that no patient is known.
    """
    from endotransfer.data.folders.split import split_folder as split

    return split(as_path(folder, "the folder"), test_share, seed, force, group, say)


def export_reviewed(
    folder: AnyPath, form: "Form", out: AnyPath, *, originals: AnyPath | None = None, progress: Progress | None = None
) -> "ExportReport":
    """Write the reviewed images of a folder to `out` (new or empty): native, coco or dicom-seg.

    Decisions are written beside them, with their authors and times.  `originals`: the DICOM files that images were
    imported from, for segmentations that refer to them.
    """
    from endotransfer.export.reviewed import export_reviewed as export

    originals = None if originals is None else as_path(originals, "originals")
    return export(as_path(folder, "the folder"), form, as_path(out, "out"), originals=originals, progress=progress)


def write_phantom(
    out: AnyPath,
    images: int = 300,
    seed: int = 0,
    *,
    size: int = 128,
    variant: Literal["lesion", "five_class"] = "lesion",
    processes: int | None = None,
) -> list[Path]:
    """Generate the procedural endoscopy phantom, two domains with `images` images each; returns their folders."""
    from endotransfer.data.phantom import write_phantom as write

    return write(as_path(out, "out"), images, seed, size=size, variant=variant, processes=processes)
