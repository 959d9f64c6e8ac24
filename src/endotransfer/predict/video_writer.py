"""An annotated video: H.264 in MP4, frame for frame in the time of the video it was made from."""

from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.data.read.video_reader import VideoReader, import_av
from endotransfer.errors import DataError
from endotransfer.predict.prediction import Pixels

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream

CODECS = {"libx264": {"preset": "superfast", "crf": "20"}, "mpeg4": {"qscale": "4"}}  # the first that is there
FINEST = 1_000_000  # units of time in a second, at most


class VideoWriter:
    """Use it as a context: the file appears whole, or not at all."""

    def __init__(self, path: Path, like: VideoReader) -> None:
        self._path, self._part = path, path.with_name(f".{path.name}.part")
        self._av = import_av()
        self._rate, self._time_base = like.rate, _time_base(like)
        self._container = self._av.open(str(self._part), "w", format="mp4", options={"movflags": "faststart"})
        self._stream = self._add_stream(like)
        self._last = -1

    def __enter__(self) -> "VideoWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._mux(None)
            self._container.close()
            if kind is None:
                self._part.replace(self._path)
        finally:
            self._part.unlink(missing_ok=True)

    def write(self, pixels: Pixels, time: Fraction) -> None:
        """One frame, shown from `time` (in seconds) on; times that do not grow are moved on."""
        frame = self._av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame.pts = self._last = max(round(time / self._time_base), self._last + 1)
        frame.duration = round(1 / self._rate / self._time_base)
        frame.time_base = self._time_base
        self._mux(frame)

    def _mux(self, frame: "VideoFrame | None") -> None:
        try:
            self._container.mux(self._stream.encode(frame))
        except OSError as reason:
            raise DataError(
                f"cannot write {self._path}: {reason.strerror}; check the space and the folder."
            ) from reason

    def _add_stream(self, like: VideoReader) -> "VideoStream":
        codec = next(name for name in CODECS if name in self._av.codecs_available)
        stream: VideoStream = self._container.add_stream(codec, rate=like.rate, options=CODECS[codec])
        stream.width, stream.height = like.width, like.height
        odd = like.width % 2 or like.height % 2
        stream.pix_fmt = "yuv444p" if odd else "yuv420p"  # half the colours need an even number of pixels
        stream.codec_context.time_base = self._time_base
        if like.aspect:
            stream.codec_context.sample_aspect_ratio = like.aspect
        return stream


def _time_base(like: VideoReader) -> Fraction:
    """A unit in which the times of the original and those of a steady rate are both whole numbers."""
    units = lcm(like.rate.numerator, like.time_base.denominator)
    return Fraction(1, units) if units <= FINEST else like.time_base
