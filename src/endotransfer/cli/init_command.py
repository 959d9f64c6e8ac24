"""The command that writes a first experiment: init."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from endotransfer import api
from endotransfer.cli.options import Imports


def init(
    source: Annotated[Path | None, typer.Argument(help="Folder of images with masks.")] = None,
    target: Annotated[Path | None, typer.Argument(help="Folder of images with tags, or without.")] = None,
    sources: Annotated[
        list[Path] | None, typer.Option("--source", help="A further source folder (repeatable).")
    ] = None,
    targets: Annotated[
        list[Path] | None, typer.Option("--target", help="A further target folder (repeatable).")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="File to write; it must be new.")] = Path("experiment.yaml"),
    backbone: Annotated[str | None, typer.Option(help="A backbone, instead of what the machine suggests.")] = None,
    weights: Annotated[Path | None, typer.Option(help="A safetensors file of backbone weights.")] = None,
    imports: Imports = None,
) -> None:
    """Look at two folders and this machine, and write an experiment with a reason for every setting.

    A target without a split is divided into train and test, keeping patients together.
    """
    api.init_experiment(
        [*([source] if source else []), *(sources or [])], [*([target] if target else []), *(targets or [])], out,
        backbone=backbone, weights=weights, say=print,
    )  # fmt: skip
    print(f"written: {out}\nnext: {shlex.join(['endotransfer', 'train', str(out), '--out', 'runs/first'])}")
