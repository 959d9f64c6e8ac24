"""Any frame of a video by its number, without decoding all that come before it."""

from collections.abc import Iterator
from pathlib import Path

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.shot import Pixels
from endotransfer.data.read.video_reader import HIDDEN_FRAMES, VideoReader

_NEAR = 48  # frames ahead that are sooner reached by decoding on than by a jump to a key frame

_Picture = tuple[Pixels | None, int | None, str | None]


class VideoFrameReader(VideoReader):
    """Frames are numbered as `VideoReader` shows them.  Use it from one thread at a time."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        super().__init__(path, name)
        try:
            self._times = self._list_times()
        except BaseException:
            self._container.close()
            raise
        self._shown: Iterator[_Picture] = iter(())
        self._last: int | None = None  # number of the frame that was read last

    def __len__(self) -> int:
        return len(self._times)

    def seconds(self, number: int) -> float:
        """When a frame is shown, counted from the first."""
        time, first = self._times[number], self._times[0]
        known = time is not None and first is not None
        return float((time - first) * self.time_base) if known else float(number / self.rate)  # type: ignore[operator]

    def read(self, number: int) -> Pixels:
        """Pixels [H, W, 3] of a frame; FaultError where it cannot be decoded."""
        if not 0 <= number < len(self._times):
            raise failure("no-frame", f"{self.path}, frame {number}", "is not there", f"it has {len(self)} frames")
        pixels = self._timed(number) if None not in self._times else self._counted(number)
        if pixels is None:
            raise failure("lost-frame", f"{self.path}, frame {number}", "cannot be decoded", "export the video again")
        return pixels

    def _timed(self, number: int) -> Pixels | None:
        """By its time: decoded on from where the reader stands, after a jump, or from the very beginning."""
        wanted = self._times[number]
        near = self._last is not None and self._last < number <= self._last + _NEAR
        found = self._until(wanted) if near else None
        for start in (wanted, None) if found is None else ():  # where a file is odd, a jump leads behind the frame
            self._restart(start)
            if (found := self._until(wanted)) is not None:
                break
        self._last = None if found is None else number
        return found

    def _until(self, wanted: int | None) -> Pixels | None:
        assert wanted is not None
        for pixels, time, _ in self._shown:
            if time == wanted:
                return pixels
            if time is not None and time > wanted:
                return None
        return None

    def _counted(self, number: int) -> Pixels | None:
        """By counting, where the file gives its frames no times."""
        self._restart(None)
        return next((pixels for place, (pixels, _, _) in enumerate(self._shown) if place == number), None)

    def _restart(self, time: int | None) -> None:
        if time is None:
            self._container.seek(0)
        else:
            self._container.seek(time, stream=self._stream)
        self._shown = self._pictures()

    def _list_times(self) -> list[int | None]:
        """The time of every frame in order: from the packets, or decoded where packets do not tell."""
        packets = [packet for packet in self._packets() if packet.size]
        times = [packet.pts for packet in packets if self._must_show(packet)]
        self._container.seek(0)
        told = len(times) == len(packets) and len(set(times)) == len(times) and None not in times
        if told and self._stream.codec_context.name not in HIDDEN_FRAMES:
            return sorted(times, key=lambda time: time or 0)
        return [time for _, time, _ in self._pictures()]
