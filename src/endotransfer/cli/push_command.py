"""The command that publishes a model."""

from pathlib import Path
from typing import Annotated

import typer

from endotransfer import api
from endotransfer.cli.options import MODEL, Imports
from endotransfer.disclaimer import DISCLAIMER


def push(
    run: Annotated[Path, typer.Argument(help=MODEL)],
    out: Annotated[Path, typer.Argument(help="Folder to write; it must be new or empty.")],
    to: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="Also upload it to this repository.")] = None,
    private: Annotated[bool, typer.Option("--private", help="A repository that only its owner sees.")] = False,
    half: Annotated[bool, typer.Option("--half", help="Weights in half precision: half the size.")] = False,
    graph: Annotated[
        bool, typer.Option("--graph", help="Also a graph for ONNX Runtime, for predictions that start at once.")
    ] = False,
    title: Annotated[str, typer.Option(help="What the card calls the model.")] = "",
    terms: Annotated[str, typer.Option(help="The licence, as hubs abbreviate it: cc-by-4.0.")] = "unknown",
    datasets: Annotated[list[str] | None, typer.Option("--dataset", help="A set it was trained on.")] = None,
    about: Annotated[Path | None, typer.Option(help="Markdown for the card: authors, attribution, limits.")] = None,
    results: Annotated[
        list[Path] | None, typer.Option("--results", help="What `evaluate --out` wrote; else the run's own.")
    ] = None,
    pictures: Annotated[
        list[Path] | None, typer.Option("--picture", help="A PNG for the card; mind what may be passed on.")
    ] = None,
    imports: Imports = None,
) -> None:
    """Write a folder that a model hub takes: weights, card with metadata, no path of this machine; or upload it."""
    print(DISCLAIMER)
    api.push_model(
        run, out, to=to, private=private, half=half, graph=graph, title=title, terms=terms, datasets=datasets or (),
        about=about, results=results or (), pictures=pictures or (), say=print,
    )  # fmt: skip
