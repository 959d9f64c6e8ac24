"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from endotransfer.registry import import_modules


def _import(names: list[str] | None) -> list[str] | None:
    import_modules(names or [])
    return names


MODEL = "A run folder, a model folder, an exported bundle, or the name of a model (`endotransfer models`)."
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
NewFolder = Annotated[Path, typer.Option("--out", help="Folder to write; it must be new or empty.")]
RunFolderArgument = Annotated[Path, typer.Argument(help="A run folder.")]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting (repeatable).")]
JsonOut = Annotated[Path | None, typer.Option("--out", help="Also write the results to this JSON file.")]
Flips = Annotated[bool, typer.Option("--flips", help="Average over four mirror images; four times the work.")]
Imports = Annotated[
    list[str] | None,
    typer.Option(
        "--import", metavar="MODULE", callback=_import, is_eager=True,
        help="Import a module or a .py file first, for its methods (repeatable).",
    ),
]  # fmt: skip
