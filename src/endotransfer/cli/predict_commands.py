"""`predict` and `export` of the command line."""

import itertools
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from endotransfer import api
from endotransfer.cli.options import MODEL, Flips, Imports, NewFolder
from endotransfer.disclaimer import DISCLAIMER

ModelArgument = Annotated[Path, typer.Argument(help=MODEL)]


class MaskForm(StrEnum):
    png = "png"
    rle = "rle"
    polygons = "polygons"
    none = "none"


class BitForm(StrEnum):
    auto = "auto"
    full = "32"
    half = "bf16"


class BackendName(StrEnum):
    auto = "auto"
    torch = "torch"
    onnx = "onnx"


def predict(
    run: ModelArgument,
    inputs: Annotated[list[Path], typer.Argument(help="Images, videos, folders of them, or patterns in quotes.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write; if not given, `predicted`, or `predicted-2` and so on.")
    ] = None,
    masks: Annotated[
        MaskForm | None,
        typer.Option(help="png, or a COCO json of rle or polygons; if not given: png, and none of a video's frames."),
    ] = None,
    overlays: Annotated[bool, typer.Option(help="Write the images with their masks drawn on them.")] = True,
    batch: Annotated[int | None, typer.Option(min=1, max=1024, help="Images at a time.")] = None,
    flips: Flips = False,
    precision: Annotated[BitForm, typer.Option(help="Of the network; auto is bf16 on a GPU.")] = BitForm.auto,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; a GPU if there is one.")] = None,
    backend: Annotated[
        BackendName, typer.Option(help="auto: ONNX Runtime for many pictures on a CPU, where it is faster than torch.")
    ] = BackendName.auto,
    imports: Imports = None,
) -> None:
    """Write masks, overlays and figures for every image, and an annotated copy of every video."""
    print(DISCLAIMER)
    api.predict_files(
        run, inputs, out or unused_folder("predicted"), masks=masks.value if masks else None, overlays=overlays,
        batch=batch, flips=flips, precision=precision.value, device=device, backend=backend.value,
    )  # fmt: skip


def unused_folder(name: str) -> Path:
    """`name`, or `name-2` and so on where there is something already."""
    numbered = (Path(f"{name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([Path(name)], numbered) if not path.exists())


def export(
    run: Annotated[Path, typer.Argument(help=MODEL)],
    out: NewFolder,
    size: Annotated[
        tuple[int, int] | None, typer.Option(metavar="H W", help="Take only images of this height and width.")
    ] = None,
    dynamic: Annotated[
        bool, typer.Option("--dynamic", help="Take images of any size; so it is without --size.")
    ] = False,
    images: Annotated[
        Path | None, typer.Option(help="Also compare the graph with torch on the images of this folder.")
    ] = None,
    imports: Imports = None,
) -> None:
    """Write a bundle that runs with ONNX Runtime alone: graph, weights, labels, model card."""
    from endotransfer.errors import ConfigError

    if size is not None and dynamic:
        raise ConfigError("--size and --dynamic contradict each other; give one of them.")
    print(DISCLAIMER)
    check = api.export_model(run, out, size=size, images=images)
    print(f"written: {out}; {check.sentence()}")
