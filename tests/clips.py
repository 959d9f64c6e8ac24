"""Small videos: a pale disc that moves over a reddish, textured wall, and after `cut` frames another scene."""

from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

from endotransfer.data.read.video_reader import import_av

RADIUS = 11


def wall(seed: int, side: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    value = sum(gaussian_filter(draw.standard_normal((side, side)), sigma) * sigma for sigma in (2, 6))
    value = (value - value.min()) / (value.max() - value.min())
    return np.stack([0.5 + 0.3 * value, 0.2 + 0.3 * value, 0.2 + 0.2 * value], -1)


def disc_of(frame: int, side: int = 64) -> np.ndarray:
    """Where the lesion is in a frame [side, side]."""
    y, x = np.mgrid[:side, :side]
    found: np.ndarray = np.hypot(y - 0.5 * side, x - (0.3 * side + 0.4 * frame)) < RADIUS * side / 64
    return found


def picture(frame: int, side: int = 64, cut: int = 1000) -> np.ndarray:
    if frame >= cut:
        return np.asarray(wall(7, side)[::-1] * [0.5, 1.2, 1.2] * 255).clip(0, 255).astype(np.uint8)
    scene = np.roll(wall(0, side), round(0.4 * frame), axis=1)
    inside = disc_of(frame, side)
    scene[inside] = scene[inside] * 0.4 + np.array([0.55, 0.5, 0.4])
    return np.asarray(scene * 255).clip(0, 255).astype(np.uint8)


def write_clip(
    path: Path, frames: int = 36, side: int = 64, cut: int = 1000, rate: int = 12, codec: str = "libx264"
) -> Path:
    av = import_av()
    with av.open(str(path), "w") as container:
        options = {"crf": "12", "g": "12"} if codec == "libx264" else {}
        stream = container.add_stream(codec, rate=Fraction(rate), options=options)
        stream.width = stream.height = side
        stream.pix_fmt = "yuv420p"
        for index in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(index, side, cut), format="rgb24")))
        container.mux(stream.encode())
    return path
