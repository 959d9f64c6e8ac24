"""Frames of a video in the order they are shown.  One that cannot be read leaves a gap with a sentence, not an end."""

from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Self

import numpy as np

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.image_limits import MAX_PIXELS, oversize, video_format
from endotransfer.data.read.shot import Pixels, Shot
from endotransfer.errors import ConfigError

if TYPE_CHECKING:
    from av import Packet, VideoFrame, VideoStream
    from av.container import InputContainer

DEFAULT_RATE = Fraction(25)  # where a file does not say
HIDDEN_FRAMES = ("vp8", "av1")  # codecs with packets that show nothing: a packet without a picture is no loss there

ENOUGH = 0.95  # of the frames that a file promises; where only its length is known, their number is a guess


def import_av() -> ModuleType:
    try:
        import av
    except ImportError:
        raise ConfigError("PyAV, which reads video, is not installed; install endotransfer[video].") from None
    module: ModuleType = av
    return module


def titles_in_any_encoding(av: ModuleType) -> dict[str, str]:
    """What `av.open` is told of titles, which nobody reads here: before PyAV 19 one in another encoding is an error."""
    return {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}


class VideoReader:
    """The first picture stream of a file.  Use it as a context; iterate over it once."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path, self.name = path, name or path.stem
        self.cut_short: str | None = None  # after the last frame: a sentence, where frames are missing at the end
        self._av = import_av()
        self._container = self._open()
        try:
            self._stream = self._container.streams.video[0]
            context = self._stream.codec_context
            self.height, self.width = context.height, context.width
            if wrong := oversize(self.height, self.width):
                raise failure("too-large", path, wrong, "scale it down, or remove it")
            context.options = {"max_pixels": str(MAX_PIXELS)}  # a stream may change its size later on
            context.thread_type = "SLICE"  # frames in threads would report a fault at another frame than its own
        except (IndexError, AttributeError):
            self._container.close()
            raise failure("no-video", path, "holds no pictures", "give a video file") from None
        except BaseException:
            self._container.close()
            raise
        self.rate: Fraction = self._stream.average_rate or self._stream.guessed_rate or DEFAULT_RATE
        self.time_base: Fraction = self._stream.time_base or 1 / self.rate
        self.aspect: Fraction | None = self._stream.sample_aspect_ratio

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    @property
    def expected(self) -> int | None:
        """How many frames there should be, where the file says so or its length tells."""
        if self._stream.frames:
            return int(self._stream.frames)
        if self._container.duration:
            return round(self._container.duration * self.rate / int(self._av.time_base))
        return None

    def __iter__(self) -> Iterator[Shot]:
        first: int | None = None
        index = -1
        for index, (pixels, pts, fault) in enumerate(self._pictures()):
            first = pts if first is None else first
            time = self._time(index, pts, first)
            sentence = None if fault is None else f"{self.path}: frame {index} {fault}"
            yield Shot(self.name, str(self.path), pixels, sentence, index, time)
        if self.expected is not None and index + 1 < ENOUGH * self.expected:
            self.cut_short = f"{self.path}: ends after {index + 1} of about {self.expected} frames."

    def _time(self, index: int, pts: int | None, first: int | None) -> Fraction:
        """Seconds from the first frame, with the stamp `first`, to the one at `index` with the stamp `pts`."""
        time = index / self.rate
        if pts is None or first is None:
            return time
        stated = (pts - first) * self.time_base
        # WebM rounds times to milliseconds; a steady rate is kept exactly, any other as it is written.
        return time if abs(time - stated) <= self.time_base else stated

    def _open(self) -> "InputContainer":
        if self.path.exists() and not self.path.is_file():  # to open a pipe is to wait for whoever writes
            raise failure("no-file", self.path, "is not a regular file", "give a video file")
        try:
            with self.path.open("rb") as file:
                kind = video_format(file.read(12))
        except OSError as reason:
            raise failure("no-file", self.path, f"cannot be read ({reason.strerror})", "check the name") from None
        if kind is None:
            raise failure("not-a-video", self.path, "is not an MP4, MOV, AVI or WebM video", "convert it, or remove it")
        try:
            container: InputContainer = self._av.open(
                str(self.path), format=kind, options={"protocol_whitelist": "file"}, **titles_in_any_encoding(self._av)
            )
            return container
        except (self._av.FFmpegError, UnicodeError, ValueError, MemoryError) as reason:
            what = f"cannot be opened ({getattr(reason, 'strerror', None) or reason})"
            raise failure("damaged", self.path, what, "copy it again from where it came from, or remove it") from None

    def _pictures(self) -> Iterator[tuple[Pixels | None, int | None, str | None]]:
        """(pixels, time, fault) in the order of time: a packet whose time passes without a picture is a lost frame."""
        awaited: list[int] = []
        for packet in self._packets():
            awaits = self._must_show(packet)
            if awaits and packet.pts is not None:
                heappush(awaited, packet.pts)
            try:
                frames = packet.decode()
            except self._av.FFmpegError as reason:
                if not awaits:
                    yield None, packet.pts, _lost(reason)
                continue
            for frame in frames:
                while awaited and frame.pts is not None and awaited[0] <= frame.pts:
                    if (lost := heappop(awaited)) != frame.pts:
                        yield None, lost, _lost()
                yield self._pixels(frame)
        while awaited:
            yield None, heappop(awaited), _lost()

    def _must_show(self, packet: "Packet[VideoStream]") -> bool:
        """Whether a picture with the packet's own time has to come of it."""
        hidden = packet.is_discard or self._stream.codec_context.name in HIDDEN_FRAMES
        return bool(packet.pts is not None and packet.size and not hidden)

    def _packets(self) -> Iterator["Packet[VideoStream]"]:
        """Packets as far as the file goes; a fault of the container ends it like its end."""
        packets = self._container.demux(self._stream)
        while True:
            try:
                yield next(packets)
            except (StopIteration, self._av.FFmpegError):
                return

    def _pixels(self, frame: "VideoFrame") -> tuple[Pixels | None, int | None, str | None]:
        if frame.is_corrupt:
            return None, frame.pts, "is damaged."
        try:
            pixels = frame.to_ndarray(format="rgb24", width=self.width, height=self.height)
        except (self._av.FFmpegError, ValueError, MemoryError) as reason:
            return None, frame.pts, _lost(reason)
        return np.ascontiguousarray(pixels), frame.pts, None


def _lost(reason: Exception | None = None) -> str:
    why = getattr(reason, "strerror", None)
    return f"cannot be decoded ({why})." if why else "cannot be decoded."
