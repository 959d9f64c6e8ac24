"""The commands about folders of images: data inspect, phantom, import, split, export."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from endotransfer import api
from endotransfer.cli.importer_options import WithImporterOptions
from endotransfer.cli.options import Force, Imports, NewFolder

Variant = Literal["lesion", "five_class"]
Form = Literal["native", "coco", "dicom-seg"]
Group = Annotated[
    str | None,
    typer.Option("--group", metavar="COLUMN", help="Column of labels.csv whose equal values are one patient."),
]
app = typer.Typer(help="Inspect, generate, import, split and export folders of images.", no_args_is_help=True)


@app.command()
def inspect(
    folder: Annotated[Path, typer.Argument(help="A folder with images/, masks/ and labels.csv.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    group: Group = None,
) -> None:
    """Print a folder's fingerprint and name every fault with its file and fix; exit code 3 where there are faults."""
    with _bar("looking") as show:
        inspection = api.inspect_folder(folder, group=group, progress=show)
    if as_json:
        print(json.dumps(inspection.as_dict(), indent=2))
    else:
        from rich.console import Console

        from endotransfer.data.inspect import render

        Console().print(render(inspection))
    if inspection.errors:
        raise typer.Exit(3)


@app.command()
def phantom(
    out: Annotated[Path, typer.Argument(help="Folder to write; it must be new or empty.")],
    images: Annotated[int, typer.Option(min=1, help="Images of each domain.")] = 300,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    size: Annotated[int, typer.Option(min=32, max=1024, help="Height and width in pixels.")] = 128,
    variant: Annotated[Variant, typer.Option(help="lesion (two classes, tags) or five_class (no tags).")] = "lesion",
) -> None:
    """Generate the procedural endoscopy phantom: two domains, masks and tags."""
    for folder in api.write_phantom(out, images, seed, size=size, variant=variant):
        print(folder)


@app.command(name="import", cls=WithImporterOptions)
def import_(
    name: Annotated[str, typer.Argument(help="A data set of `endotransfer datasets`; folders and table are your own.")],
    source: Annotated[Path, typer.Argument(help="The data set as published, your folder, or your table of tags.")],
    out: Annotated[Path | None, typer.Argument(help="Folder to write; it must be new or empty.")] = None,
    options: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Of the importer; also as --NAME VALUE.")
    ] = None,
    group: Group = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look at everything, say what would happen.")] = False,
    imports: Imports = None,
) -> None:
    """Convert a public data set or your own folders to the native layout; what is left out is named with its reason."""
    from endotransfer.data.importers import IMPORTERS
    from endotransfer.errors import ConfigError

    pairs = [option.partition("=") for option in options or []]
    if any(not equals for _, equals, _ in pairs):
        raise ConfigError("--option takes NAME=VALUE; write for example --option masks=annotations.")
    chosen = {key: value for key, _, value in pairs} | ({"patient": group} if group else {})
    IMPORTERS.get(name).check(chosen)  # before the call: an option must not pass for an argument of ours
    with _bar(f"importing {name}") as show:
        report = api.import_dataset(name, source, out, progress=show, dry_run=dry_run, **chosen)
    print(report)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that moves a bar on the terminal."""
    from rich.console import Console

    from endotransfer.engine.progress_bar import progress_bar

    with progress_bar(Console(stderr=True), shown=True) as bar:
        task = bar.add_task(what, total=None, note="")
        yield lambda done, total: bar.update(task, completed=done, total=total)


@app.command()
def split(
    folder: Annotated[Path, typer.Argument(help="A folder with images/ and, if any, labels.csv.")],
    test_share: Annotated[float, typer.Option(min=0.01, max=0.99)] = 1 / 3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    group: Group = None,
    force: Force = False,
) -> None:
    """Divide a folder into train and test, keeping patients and near-duplicates on one side."""
    counted = api.split_folder(folder, test_share, seed, force=force, group=group, say=_say)
    for part, counts in counted.items():
        tags = ", ".join(f"{count} {tag}" for tag, count in counts.items() if tag not in ("images", "groups"))
        print(f"{part}: {counts['images']} images in {counts['groups']} groups ({tags})")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The folder that was reviewed in the viewer.")],
    form: Annotated[Form, typer.Option("--as", help="native, coco or dicom-seg.")],
    out: NewFolder,
    originals: Annotated[
        Path | None,
        typer.Option("--dicom", metavar="DIR", help="The DICOM files that were imported, for dicom-seg to refer to."),
    ] = None,
) -> None:
    """Write the reviewed images with their masks, and who decided what and when."""
    with _bar("exporting") as show:
        report = api.export_reviewed(folder, form, out, originals=originals, progress=show)
    print(report)


def _say(sentence: str) -> None:
    print(f"note: {sentence}", file=sys.stderr)
