"""The command that writes a report."""

from pathlib import Path
from typing import Annotated

import typer

from endotransfer import api
from endotransfer.cli.options import Force, Imports


def report(
    folder: Annotated[Path, typer.Argument(help="A run folder, or the folder of a benchmark, a sweep or a demo.")],
    out: Annotated[Path | None, typer.Option("--out", help="The page; FOLDER/report/report.html if not given.")] = None,
    folders: Annotated[
        list[Path] | None, typer.Option("--data", help="Where a folder of images lies now, if it was moved.")
    ] = None,
    photographs: Annotated[bool, typer.Option(help="Show the images themselves, not masks on grey.")] = True,
    force: Force = False,
    imports: Imports = None,
) -> None:
    """Write one self-contained HTML page with tables, curves, predictions and the paper's figures."""
    print(api.write_report(folder, out, data=folders or (), photographs=photographs, force=force))
