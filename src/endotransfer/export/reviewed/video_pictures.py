"""Frames of several videos, each opened once."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.read.video_frame_reader import VideoFrameReader


class VideoPictures:
    """Reads frames by number; `close` closes all files."""

    def __init__(self) -> None:
        self._open: dict[Path, VideoFrameReader] = {}

    def read(self, video: Path, number: int) -> NDArray[np.uint8]:
        if video not in self._open:
            self.close()  # sets come video by video: one open file is enough
            self._open[video] = VideoFrameReader(video)
        return self._open[video].read(number)

    def close(self) -> None:
        for reader in self._open.values():
            reader.__exit__()
        self._open.clear()
