"""Some frames of a video as images: so many a second, or one whenever the view has changed."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.read_image import ImageReading
from endotransfer.data.read.shot import Pixels, Shot
from endotransfer.data.read.video_reader import VideoReader
from endotransfer.errors import ConfigError

CHANGE = "change"
_CHANGED = 12  # grey values in the mean over a thumbnail; noise and slight motion stay below
_SIDE = 32


class ChosenFrames:
    """The frames of one video that are wanted, each read when it is asked for; quick if they are asked for in order."""

    def __init__(self, path: Path, choice: str) -> None:
        """`choice`: frames a second, or "change"."""
        self._path = path
        self.numbers = _changes(path) if choice == CHANGE else _at_rate(path, _rate(choice))
        self._shots: Iterator[Shot] = iter(())
        self._next = 0

    def read(self, number: int) -> ImageReading:
        if number < self._next or self._next == 0:
            self._shots, self._next = _shots(self._path), 0
        for shot in self._shots:
            self._next += 1
            if shot.frame == number and shot.pixels is not None:
                return ImageReading(shot.pixels, "video", ("a frame of a video was saved as PNG",))
            if shot.frame == number:
                break
        raise failure("lost-frame", f"{self._path}, frame {number}", "cannot be decoded", "export the video again")


def _rate(choice: str) -> float:
    try:
        rate = float(choice)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1000:
        raise ConfigError(f"option frames is '{choice}'; give frames a second, such as 1 or 0.5, or `change`.")
    return rate


def _at_rate(path: Path, rate: float) -> list[int]:
    """The numbers of the frames, from what the file says of itself; decoded only where it says nothing."""
    with VideoReader(path) as reader:
        expected, step = reader.expected, max(1.0, float(reader.rate) / rate)
    if expected is None:
        expected = sum(1 for _ in _shots(path))
    return sorted({int(number) for number in np.arange(0, max(1, expected), step)})


def _changes(path: Path) -> list[int]:
    kept: list[int] = []
    last: NDArray[np.int16] | None = None
    for shot in _shots(path):
        if shot.pixels is None or shot.frame is None:
            continue
        small = _thumbnail(shot.pixels)
        if last is None or np.abs(small - last).mean() > _CHANGED:
            kept.append(shot.frame)
            last = small
    return kept


def _thumbnail(pixels: Pixels) -> NDArray[np.int16]:
    small = Image.fromarray(pixels).convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
    return np.asarray(small).astype(np.int16)


def _shots(path: Path) -> Iterator[Shot]:
    with VideoReader(path) as reader:
        yield from reader
