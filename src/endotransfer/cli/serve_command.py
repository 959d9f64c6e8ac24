"""The command that opens the viewer."""

from pathlib import Path
from typing import Annotated

import typer

from endotransfer.cli.options import Imports


def serve(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN [RUN2]", help="A model, or two to compare: run folders, or names.")
    ],
    images: Annotated[Path | None, typer.Option("--images", help="A folder of images to look at and review.")] = None,
    prompt_model: Annotated[
        Path | None,
        typer.Option(
            "--prompt-model", metavar="NAME", help="SAM 2 as ONNX, for clicks: folder, file, hf://owner/name."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8731,
    host: Annotated[str, typer.Option(help="Where to listen; anything but this machine needs --token.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(envvar="ENDOTRANSFER_TOKEN", help="What visitors must know; 16 characters or more.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a page.")] = False,
    imports: Imports = None,
) -> None:
    """Look at predictions in the browser, compare two models, accept or correct masks."""
    from endotransfer.serve.start import serve as run

    run(runs, images, host=host, port=port, token=token, browser=not no_browser, prompt_model=prompt_model)
