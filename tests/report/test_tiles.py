"""Over every picture of a sheet stands what it shows, and over the first what its row is about."""

import numpy as np
import pytest
from matplotlib.textpath import TextPath

from endotransfer.report.tiles import IMAGE, Tile, TileRow, _above

PIXELS = np.zeros((2, 2, 3), np.uint8)
NOTE = "wcebleedgen/bleeding-1025"


def titles(*tiles: Tile) -> list[str]:
    row = TileRow("Worst", NOTE, list(tiles))
    return [_above(row, tile) for tile in row.tiles]


def test_an_image_carries_the_name_of_its_row() -> None:
    assert titles(Tile(PIXELS, IMAGE), Tile(PIXELS, "lta", "12.5")) == [f"Worst\n{NOTE}", "lta\n12.5"]


def test_without_images_the_first_tile_says_both() -> None:
    first, second = titles(Tile(PIXELS, "truth"), Tile(PIXELS, "lta", "12.5"))
    assert first.split("\n") == ["Worst", NOTE, "truth"]
    assert second == "lta\n12.5"


@pytest.mark.parametrize(
    ("note", "lines"),
    [
        (f"{NOTE} · bleeding", [NOTE, "· bleeding"]),
        ("wcebleedgen/non_bleeding-1257 · none", ["wcebleedgen/non_bleeding-", "1257 · none"]),
        ("polypgen/EndoCV2021_C6_0100103 · polyp", ["polypgen/EndoCV2021_C6_010", "0103 · polyp"]),
        ("x" * 90, ["x" * 26, "…"]),
    ],
)
def test_a_long_note_stays_within_its_tile(note: str, lines: list[str]) -> None:
    row = TileRow("Worst", note, [Tile(PIXELS, IMAGE)])
    drawn = _above(row, row.tiles[0]).split("\n")
    assert drawn == ["Worst", *lines]
    assert max(TextPath((0, 0), line, size=6.5).get_extents().width for line in drawn) / 72 < 1.5  # inches
