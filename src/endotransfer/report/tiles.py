"""Rows of small pictures: on the page, where they wrap on a phone, and as one PNG sheet."""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from numpy.typing import NDArray
from PIL import Image
from skimage.segmentation import find_boundaries

from endotransfer.batch import IGNORE
from endotransfer.errors import DataError
from endotransfer.io import write_atomically
from endotransfer.predict.overlay import overlay
from endotransfer.report.drawing import LIGHT, figure_settings, panels
from endotransfer.report.page import data_uri

IMAGE = "image"  # the title of a tile that shows the photograph itself
SIDE = 224  # pixels of a tile's longer side
WIDTH, LINES = 26, 2  # of a title over a tile of a sheet, in characters
WHITE = np.array([255, 255, 255], np.uint8)
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Tile:
    pixels: Pixels  # [H, W, 3]
    title: str
    figure: str = ""  # a number under it

    @property
    def uri(self) -> str:
        raw = io.BytesIO()
        Image.fromarray(self.pixels).save(raw, "JPEG", quality=88, subsampling=0)
        return data_uri(raw.getvalue(), "image/jpeg")

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])


@dataclass(frozen=True)
class TileRow:
    title: str
    note: str
    tiles: list[Tile]


def shrink(pixels: Pixels, *, labels: bool = False) -> Pixels:
    """An image [H, W, 3] or label map [H, W] with a longer side of SIDE; labels are never mixed."""
    height, width = pixels.shape[:2]
    scale = SIDE / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    how = Image.Resampling.NEAREST if labels else Image.Resampling.LANCZOS
    return np.asarray(Image.fromarray(pixels).resize(size, how))


def painted(image: Pixels, mask: Pixels, truth: Pixels | None = None) -> Pixels:
    """The image with a mask over it, and the outline of the truth in white; all at SIDE, so that lines stay thin."""
    picture = overlay(shrink(image), shrink(mask, labels=True))
    if truth is not None:
        true = shrink(truth, labels=True)
        outline = find_boundaries(np.where(true == IGNORE, 0, true), mode="inner")  # type: ignore[no-untyped-call]
        picture[outline] = WHITE
    return picture


def write_sheet(path: Path, rows: Sequence[TileRow]) -> None:
    """All rows as one PNG."""
    columns = max(len(row.tiles) for row in rows)
    lines = max(_above(row, tile).count("\n") + 1 for row in rows for tile in row.tiles)
    margin = 0.12 + 0.1 * lines  # inches
    with rc_context(figure_settings(LIGHT)):
        figure, axes = panels(
            LIGHT, len(rows) * columns, columns, size=(1.5, 1.46 + margin), margins=(0.04, 0.04, margin, 0.02)
        )
        for cell in axes:
            cell.set_axis_off()
        for place, row in enumerate(rows):
            for cell, tile in zip(axes[place * columns :], row.tiles, strict=False):
                cell.imshow(tile.pixels, interpolation="nearest")
                cell.set_title(_above(row, tile), fontsize=6.5, loc="left")
        raw = io.BytesIO()
        figure.savefig(raw, format="png", dpi=160)
    write_atomically(path, raw.getvalue(), DataError)


def _above(row: TileRow, tile: Tile) -> str:
    """What a row is about stands over its first tile; over all tiles but an image itself, what they show."""
    shown = f"{_wrapped(tile.title)}\n{tile.figure}"
    if tile is not row.tiles[0]:
        return shown
    about = f"{_wrapped(row.title)}\n{_wrapped(row.note)}"
    return about if tile.title == IMAGE else f"{about}\n{shown}".rstrip()


def _wrapped(text: str) -> str:
    """Within the width of a tile: names of public sets, and what was found, can be longer."""
    return textwrap.fill(text, WIDTH, max_lines=LINES, placeholder="…")
