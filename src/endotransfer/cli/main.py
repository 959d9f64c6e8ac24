"""The command line: parse, call, print.  Heavy imports wait inside the commands, so that `--help` answers at once."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from endotransfer import __version__
from endotransfer.cli.benchmark_commands import add_commands
from endotransfer.cli.predict_commands import add_commands as add_predict_commands
from endotransfer.cli.serve_command import add_serve
from endotransfer.errors import EndotransferError

DISCLAIMER = "Research use only, not a medical device."
app = typer.Typer(
    help=f"Lesion segmentation where nobody has drawn masks. {DISCLAIMER}",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
)  # fmt: skip
data = typer.Typer(help="Look at, make, import and split folders of images.", no_args_is_help=True)
app.add_typer(data, name="data")

Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write; it must be new or empty.")]
RunArgument = Annotated[Path, typer.Argument(help="A run folder.")]


def main() -> None:
    """Run a command; a user's mistake becomes one sentence and an exit code."""
    try:
        app()
    except EndotransferError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        if error.errno is None:
            raise
        print(f"error: {error.strerror}: {error.filename or ''}; check space and permissions.", file=sys.stderr)
        sys.exit(3)


def _version(asked: bool) -> None:
    if asked:
        print(f"endotransfer {__version__}. {DISCLAIMER}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


@app.command()
def demo(
    out: Out = Path("demo-out"),
    seed: Annotated[int, typer.Option(help="Of the phantom's training, not of its images.")] = 0,
    force: Force = False,
) -> None:
    """Train four systems on the embedded phantom, print their table and draw their predictions (some minutes)."""
    from endotransfer.cli.demo_run import run_demo

    run_demo(out, seed=seed, force=force)


@app.command()
def train(
    experiment: Annotated[Path, typer.Argument(help="An experiment file (YAML).")],
    out: Annotated[Path, typer.Option("--out", help="The run folder.")],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run was stopped.")] = False,
    force: Force = False,
) -> None:
    """Train a method, evaluate it on the test images and write a run folder."""
    from endotransfer.config import read_experiment
    from endotransfer.engine.run import train as run
    from endotransfer.report.tables import print_results

    results = run(read_experiment(experiment, settings), out, resume=resume, force=force)
    if results is not None:
        print_results([results])


@app.command()
def evaluate(
    run: RunArgument,
    folders: Annotated[list[Path], typer.Option("--data", help="A folder of images with masks, or with tags only.")],
    split: Annotated[str | None, typer.Option(help="`test` where there are splits; `all` for everything.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Also write the figures to this JSON file.")] = None,
    pranet: Annotated[bool, typer.Option("--pranet", help="Add the figures of the PraNet protocol.")] = False,
    flips: Annotated[
        bool, typer.Option("--flips", help="Average over four mirror images; four times the work.")
    ] = False,
) -> None:
    """Measure a trained model on labelled images; without masks, say what tags alone can tell."""
    from endotransfer.engine.run import evaluate as measure
    from endotransfer.report.tables import print_results

    print_results([measure(run, folders, split=split, out=out, pranet=pranet, flips=flips)])


add_commands(app)
add_predict_commands(app)
add_serve(app)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A run folder, or the folder of a benchmark, a sweep or a demo.")],
    out: Annotated[Path | None, typer.Option("--out", help="The page; FOLDER/report/report.html if not given.")] = None,
    folders: Annotated[
        list[Path] | None, typer.Option("--data", help="Where a folder of images lies now, if it was moved.")
    ] = None,
    photographs: Annotated[
        bool, typer.Option(help="Show the images themselves; without them masks stand on grey.")
    ] = True,
    force: Force = False,
) -> None:
    """Write one self-contained HTML page with tables, curves, predictions and the paper's figures."""
    from endotransfer.report.html_report import write_report

    print(write_report(folder, out, data=folders or [], photographs=photographs, force=force))


@app.command()
def methods() -> None:
    """List the methods, one line each."""
    from endotransfer.methods import METHODS

    for name, method in METHODS.items():
        presets = "" if len(method.presets) == 1 else f" [presets: {', '.join(method.presets)}]"
        print(f"{name:20} {method.summary}{presets}")


@app.command()
def datasets() -> None:
    """List the public data sets that `data import` reads, and those that need no import, one line each."""
    from endotransfer.data.importers import IMPORTERS
    from endotransfer.data.layouts import LAYOUTS

    for name, importer in IMPORTERS.items():
        print(f"{name:16} {importer.summary}")
    print("\nread as they are published, without import:")
    for name, layout in LAYOUTS.items():
        if layout is not None:
            print(f"{name:16} {layout.summary}")


@app.command()
def backbones() -> None:
    """List the timm backbones that accept output stride 8."""
    from endotransfer.models.backbones.backbone import list_backbones

    print("\n".join(list_backbones()))


@data.command()
def inspect(
    folder: Annotated[Path, typer.Argument(help="A folder with images/, masks/ and labels.csv.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a folder's fingerprint and name every fault with its file and fix; exit code 3 where there are faults."""
    from endotransfer.data.inspect import inspect_folder, render

    inspection = inspect_folder(folder)
    if as_json:
        print(json.dumps(inspection.as_dict(), indent=2))
    else:
        from rich.console import Console

        Console().print(render(inspection))
    if inspection.errors:
        raise typer.Exit(3)


@data.command()
def phantom(
    out: Annotated[Path, typer.Argument(help="Folder to write; it must be new or empty.")],
    images: Annotated[int, typer.Option(min=1, help="Images of each domain.")] = 300,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    size: Annotated[int, typer.Option(min=32, max=1024, help="Height and width in pixels.")] = 128,
    variant: Annotated[str, typer.Option(help="lesion (two classes, tags) or five_class (no tags).")] = "lesion",
) -> None:
    """Generate the procedural endoscopy phantom: two domains, masks and tags."""
    from endotransfer.data.phantom import write_phantom

    for folder in write_phantom(out, images, seed, size=size, variant=variant):
        print(folder)


@data.command(name="import")
def import_(
    name: Annotated[str, typer.Argument(help="A data set of `endotransfer datasets`.")],
    source: Annotated[Path, typer.Argument(help="The data set as published.")],
    out: Annotated[Path, typer.Argument(help="Folder to write; it must be new or empty.")],
    options: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Of the importer.")
    ] = None,
) -> None:
    """Bring a public data set into the native layout."""
    from rich.console import Console

    from endotransfer.data.importers import IMPORTERS, import_dataset
    from endotransfer.engine.run_log import progress_bar
    from endotransfer.errors import ConfigError

    pairs = [option.partition("=") for option in options or []]
    if any(not equals for _, equals, _ in pairs):
        raise ConfigError("--option takes NAME=VALUE; write for example --option masks=annotations.")
    chosen = {key: value for key, _, value in pairs}
    IMPORTERS.get(name).check(chosen)  # before the call: an option must not pass for an argument of ours
    with progress_bar(Console(stderr=True), shown=True) as bar:
        task = bar.add_task(f"importing {name}", total=None, note="")
        report = import_dataset(
            name, source, out, progress=lambda done, total: bar.update(task, completed=done, total=total), **chosen
        )
    print(report)


@data.command()
def split(
    folder: Annotated[Path, typer.Argument(help="A folder with images/ and, if any, labels.csv.")],
    test_share: Annotated[float, typer.Option(min=0.01, max=0.99)] = 1 / 3,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    force: Force = False,
) -> None:
    """Divide a folder into train and test, keeping patients and near-duplicates on one side."""
    from endotransfer.data.folders.split import split_folder

    for part, counts in split_folder(folder, test_share=test_share, seed=seed, force=force).items():
        tags = ", ".join(f"{count} {tag}" for tag, count in counts.items() if tag not in ("images", "groups"))
        print(f"{part}: {counts['images']} images in {counts['groups']} groups ({tags})")


if __name__ == "__main__":  # pragma: no cover
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
