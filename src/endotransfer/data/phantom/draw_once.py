"""Draw a phantom once and reuse it: complete or absent, and never mistaken for one with other settings."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from endotransfer.data.phantom.domains import DOMAINS
from endotransfer.data.phantom.write import write_phantom
from endotransfer.errors import ConfigError, DataError
from endotransfer.io import JSON, read_json_object, write_atomically

FILE = "phantom.json"  # how it was drawn


def draw_once(
    folder: Path, *, images: int, seed: int, size: int, variant: str = "lesion", say: Callable[[str], None] = print
) -> None:
    """Draw `images` images of each domain into `folder`, unless they are there.

    Drawn under another name, then renamed: an interruption leaves no incomplete phantom that looks complete.
    """
    settings: dict[str, int | str] = {"images": images, "seed": seed, "size": size, "variant": variant}
    if folder.exists():
        _check(folder, settings)
        return
    say(f"drawing {images} images of each domain into {folder}")
    unfinished = unfinished_phantom(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    write_phantom(unfinished, images, seed, size=size, variant=variant)
    write_atomically(unfinished / FILE, json.dumps(settings), ConfigError)
    unfinished.rename(folder)


def unfinished_phantom(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.part")


def drawn_with(folder: Path) -> dict[str, JSON] | None:
    """How the phantom in `folder` was drawn; None where that is not known."""
    if not (folder / FILE).exists():  # no phantom, or one of `data phantom`, whose images are as good
        return None
    return read_json_object(folder / FILE, DataError, fix=f"remove {folder} and start again")


def _check(folder: Path, settings: dict[str, int | str]) -> None:
    for domain in DOMAINS:
        if not (folder / domain / "labels.csv").exists():
            raise DataError(f"{folder / domain} is not whole; remove {folder} and start again.")
    drawn = drawn_with(folder)
    if drawn not in (None, settings):
        raise ConfigError(f"{folder} was drawn with {drawn}, not with {settings}; choose another --out.")
