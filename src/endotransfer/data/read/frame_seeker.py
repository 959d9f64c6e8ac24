"""Any frame of a video by its number, without decoding all those before it."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.shot import Pixels
from endotransfer.data.read.video_reader import HIDDEN_FRAMES, VideoReader
from endotransfer.io import open_regular

if TYPE_CHECKING:
    from av import VideoFrame

NEAR = 40  # frames that are decoded one after the other rather than sought
_END = 1_000_000  # bytes at either end of a file that tell it from another

Picture = tuple[Pixels | None, int | None, str | None]  # pixels, stamp, fault: as VideoReader has them


@dataclass(frozen=True)
class FrameIndex:
    """The frames of a video.  `stamps`: when each is shown, in units of the file; None where it does not say."""

    times: list[float]  # seconds since the first
    stamps: list[int] | None

    def __len__(self) -> int:
        return len(self.times)


def video_digest(path: Path) -> str:
    """Tells a video from any other: its length, and the bytes at both ends."""
    try:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            found = blake2b(str(size).encode(), digest_size=16)
            for place in (0, max(0, size - _END)):
                file.seek(place)
                found.update(file.read(_END))
    except OSError as reason:
        raise failure("no-file", path, f"cannot be read ({reason.strerror})", "put it back where it was") from None
    return found.hexdigest()


class FrameSeeker(VideoReader):
    """Use it as a context.  Frames that are asked for in order are quickest."""

    def __init__(self, path: Path, index: FrameIndex | None = None) -> None:
        super().__init__(path)
        self._index, self._next = index, 0
        self._wanted: int | None = None  # the stamp before which no picture is needed
        self._running: Iterator[Picture] | None = None

    def make_index(self) -> FrameIndex:
        """Go through the file once.  Only where it does not say when its frames are shown are they decoded."""
        stamps = self._stamps()
        self._rewind()
        if stamps is None:
            return FrameIndex([float(shot.time or 0) for shot in self], None)
        times = [float(self._time(place, stamp, stamps[0])) for place, stamp in enumerate(stamps)]
        return FrameIndex(times, stamps)

    def read(self, number: int) -> Pixels:
        """The frame [H, W, 3] of a number, from 0 on."""
        if self._index is None:
            self._index = self.make_index()
        if not 0 <= number < len(self._index):
            raise failure("lost-frame", f"{self.path}, frame {number}", "is not there", "put the whole video back")
        stamps = self._index.stamps
        picture = self._next_until(number) if stamps is None else self._sought(number, stamps)
        pixels, _, fault = picture or (None, None, None)
        if pixels is None:
            self._running = None
            raise failure(
                "lost-frame", f"{self.path}, frame {number}", fault or "cannot be decoded", "export the video again"
            )
        return pixels

    def _sought(self, number: int, stamps: list[int]) -> Picture | None:
        """By its stamp, from the last key frame before it."""
        wanted = stamps[number]
        if self._running is None or not 0 <= number - self._next <= NEAR:
            self._container.seek(wanted, stream=self._stream, backward=True)
            self._running = self._pictures()
        self._wanted, self._next = wanted, number + 1
        return next((one for one in self._running if one[1] is not None and one[1] >= wanted), None)

    def _next_until(self, number: int) -> Picture | None:
        """By counting."""
        if self._running is None or number < self._next:
            self._rewind()
            self._running, self._next = self._pictures(), 0
        for picture in self._running:
            self._next += 1
            if self._next > number:
                return picture
        return None

    def _rewind(self) -> None:
        self._wanted = None
        self._container.seek(0)

    def _stamps(self) -> list[int] | None:
        """The stamps of all frames in the order of time; None where the packets do not tell."""
        found = []
        for packet in self._packets():
            if packet.size and not packet.is_discard:
                if packet.pts is None:
                    return None
                found.append(packet.pts)
        if self._stream.codec_context.name in HIDDEN_FRAMES or len(set(found)) < len(found):
            return None
        return sorted(found)

    def _pixels(self, frame: "VideoFrame") -> Picture:
        if self._wanted is not None and frame.pts is not None and frame.pts < self._wanted:
            return None, frame.pts, None  # on the way: not worth its conversion
        return super()._pixels(frame)
