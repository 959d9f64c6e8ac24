"""Folders of generated photographs in the native layout, quickly: what they show does not matter, their size does."""

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Layer = NDArray[np.floating]
PATIENT = 50  # images


def write_folder(folder: Path, images: int, side: int, seed: int, *, masks: bool = True) -> Path:
    """`images` JPEGs of `side` px, half of them with a lesion: texture and noise behind a round black frame."""
    for part in ("images", "masks") if masks else ("images",):
        (folder / part).mkdir(parents=True)
    rows, columns = np.mgrid[:side, :side]
    outside = (rows - side / 2) ** 2 + (columns - side / 2) ** 2 > (0.49 * side) ** 2

    def write(index: int) -> None:
        random = np.random.default_rng((seed, index))
        layers = [_blown_up(random.normal(0, amplitude, (cells, cells, 3)), side)
                  for cells, amplitude in ((4, 60), (16, 30), (64, 14))]  # fmt: skip
        pixels = np.array([160, 90, 70]) + np.sum(layers, axis=0) + random.normal(0, 4, (side, side, 1))
        pixels[outside] = 0
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / "images" / f"{index:05d}.jpg", quality=90)
        if masks:
            top, left, radius = (random.integers(side // 3, 2 * side // 3), random.integers(side // 3, 2 * side // 3),
                                 random.integers(side // 16, side // 6))  # fmt: skip
            drawn = (rows - top) ** 2 + (columns - left) ** 2 < radius**2 if index % 2 else np.zeros_like(outside)
            Image.fromarray(drawn.astype(np.uint8) * 255).save(folder / "masks" / f"{index:05d}.png", compress_level=1)

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, range(images)))
    with (folder / "labels.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "label", "patient"])
        table.writerows([f"{n:05d}.jpg", ("normal", "lesion")[n % 2], f"p{n // PATIENT}"] for n in range(images))
    return folder


def _blown_up(values: Layer, side: int) -> Layer:
    planes = [Image.fromarray(values[..., one].astype(np.float32)) for one in range(3)]
    return np.stack([np.asarray(plane.resize((side, side), Image.Resampling.BILINEAR)) for plane in planes], axis=-1)
