"""The commands that train and measure: train, evaluate, demo."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from endotransfer import api
from endotransfer.cli.options import MODEL, Flips, Force, Imports, JsonOut, NewFolder, Settings


class Contradictions(StrEnum):
    """What becomes of a tag that contradicts its mask."""

    STOP = "stop"
    KEEP = "keep"


def demo(
    out: NewFolder = Path("demo-out"),
    seed: Annotated[int, typer.Option(help="Of the phantom's training, not of its images.")] = 0,
    force: Force = False,
) -> None:
    """Train four systems on the embedded phantom, print their table and draw their predictions (some minutes)."""
    from endotransfer.cli.demo import run_demo

    run_demo(out, seed=seed, force=force)


def train(
    experiment: Annotated[Path, typer.Argument(help="An experiment file (YAML), or the name of a recipe.")],
    out: Annotated[Path, typer.Option("--out", help="The run folder.")],
    settings: Settings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    force: Force = False,
    imports: Imports = None,
) -> None:
    """Train a method on two domains, measure it on target images and write a run folder."""
    from endotransfer.report.tables import print_results

    results = api.train(experiment, out, settings=settings or (), resume=resume, force=force)
    if results is not None:
        print_results([results])


def evaluate(
    run: Annotated[Path, typer.Argument(help=MODEL)],
    folders: Annotated[list[Path], typer.Option("--data", help="A folder of images with masks, or with tags only.")],
    split: Annotated[str | None, typer.Option(help="`test` where there are splits; `all` for everything.")] = None,
    out: JsonOut = None,
    pranet: Annotated[bool, typer.Option("--pranet", help="Add the figures of the PraNet protocol.")] = False,
    flips: Flips = False,
    contradictions: Annotated[
        Contradictions | None, typer.Option(help="A tag against its mask: stop or keep; else as the run was trained.")
    ] = None,
    imports: Imports = None,
) -> None:
    """Measure a trained model on labelled images; without masks, report what tags alone can tell."""
    from endotransfer.report.tables import print_results

    kept: Literal["stop", "keep"] | None = None
    if contradictions is not None:
        kept = "keep" if contradictions is Contradictions.KEEP else "stop"
    results = api.evaluate(run, folders, split=split, out=out, pranet=pranet, flips=flips, contradictions=kept)
    print_results([results])
