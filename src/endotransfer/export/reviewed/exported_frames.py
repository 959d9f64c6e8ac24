"""Frames of videos for an export, one video open at a time."""

from pathlib import Path

from endotransfer.data.read.frame_seeker import FrameSeeker
from endotransfer.data.read.shot import Pixels
from endotransfer.errors import ConfigError, DataError


class FrameReader:
    """Close it when all is read."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._open: FrameSeeker | None = None

    def read(self, file: Path, number: int) -> Pixels:
        if self._open is None or self._file != file:
            self.close()
            try:
                self._open, self._file = FrameSeeker(file), file
            except ConfigError as reason:  # what reads video is not installed: the images go without the frames
                raise DataError(str(reason)) from None
        return self._open.read(number)

    def close(self) -> None:
        if self._open is not None:
            self._open.__exit__()
        self._open = None
