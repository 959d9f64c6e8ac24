"""One picture, whether it came from a file of its own or from a video."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # [H, W, 3]


@dataclass(frozen=True)
class Shot:
    """A picture, or what stands in its place where it could not be read."""

    name: str  # of the outputs
    file: str
    pixels: Pixels | None
    fault: str | None = None  # one sentence
    frame: int | None = None  # number in its video, from 0 on
    time: Fraction | None = None  # seconds since the first frame
