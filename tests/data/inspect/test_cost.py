"""Inspecting a folder costs an image about what decoding it costs: thousands are the work of a minute, not an hour."""

import resource
from pathlib import Path

import numpy as np
from PIL import Image

from endotransfer.data.inspect import inspect_folder

IMAGES, MOST_MS = 60, 40  # milliseconds of a core for an image of 384 x 288 with its mask; 5 to 10 are usual


def core_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def test_an_image_costs_little_more_than_its_decoding(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    for index in range(IMAGES):
        rough = Image.fromarray(draw.integers(0, 255, (18, 24, 3), dtype=np.uint8))
        rough.resize((384, 288)).save(tmp_path / f"images/{index}.jpg")
        mask = np.zeros((288, 384), np.uint8)
        mask[40:90, 30 : 90 + index] = 255
        Image.fromarray(mask).save(tmp_path / f"masks/{index}.png")
    before = core_seconds()
    inspect_folder(tmp_path)
    spent = 1000 * (core_seconds() - before) / IMAGES
    assert spent < MOST_MS
