"""A reviewed mask, carried to the frames on both sides in a thread of its own; what it proposes, people decide on."""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from endotransfer import __version__
from endotransfer.data.folders.frame_names import frame_name
from endotransfer.data.folders.review_record import ReviewRecord, ReviewVersion, in_force
from endotransfer.data.folders.reviewed import propose_review
from endotransfer.data.read.frame_seeker import FrameSeeker
from endotransfer.errors import DataError, EndotransferError
from endotransfer.predict.carry.carry_mask import carry_mask
from endotransfer.predict.carry.holds import Ending, Rules
from endotransfer.serve.pictures import Pixels, fit
from endotransfer.serve.review import now
from endotransfer.serve.review_state import known_record
from endotransfer.serve.video.video_catalogue import VideoEntry, VideoFacts

CHUNK = 40  # frames that are decoded forward to be seen backward, each no larger than the rules need
_log = logging.getLogger("endotransfer.serve")


class _Decided(DataError):  # noqa: N818  (no fault)
    """Somebody has decided on the frame."""


@dataclass
class CarryProgress:
    """`frames`: where a mask was proposed; `looked`: frames gone through; `after`, `before`: why it ended there."""

    video: str
    frame: int
    who: str
    state: Literal["running", "stopped", "done", "failed"] = "running"
    looked: int = 0
    frames: list[int] = field(default_factory=list)
    after: Ending | None = None
    before: Ending | None = None
    fault: str = ""


@dataclass(frozen=True)
class CarriedDecision:
    """The decision that is carried: its frame, its mask [H, W] at the size of the video."""

    frame: int
    version: ReviewVersion
    mask: Pixels


class Carrying:
    """Propose the mask for the frames of `wanted`, forward and then backward, until it stops holding."""

    def __init__(
        self, folder: Path, entry: VideoEntry, facts: VideoFacts, origin: CarriedDecision, who: str,
        wanted: Callable[[int], bool], rules: Rules | None = None,
    ) -> None:  # fmt: skip
        self._folder, self._entry, self._facts, self._origin = folder, entry, facts, origin
        self._wanted, self._rules = wanted, rules or Rules()
        self.progress = CarryProgress(entry.id, origin.frame, who)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def wait(self) -> None:
        self._thread.join()

    def _work(self) -> None:
        progress = self.progress
        try:
            progress.after = self._carry(1)
            progress.before = None if self._stop.is_set() else self._carry(-1)
            progress.state = "stopped" if self._stop.is_set() else "done"
        except EndotransferError as reason:
            _log.warning("%s", reason)
            progress.fault, progress.state = (
                "a frame cannot be read, or a mask not be saved; the terminal says which.",
                "failed",
            )
        except Exception:
            _log.exception("a mask cannot be carried")
            progress.fault, progress.state = "the mask cannot be carried; the terminal has the details.", "failed"

    def _carry(self, way: int) -> Ending | None:
        """Why it ended on this side; None where it was stopped."""
        number, origin = self._origin.frame, self._origin
        with FrameSeeker(self._entry.file, self._facts.index) as reader:
            start = self._small(reader.read(number))
            masks = carry_mask(start, origin.mask, self._pictures(reader, way), self._rules)
            while not self._stop.is_set():
                number += way
                if self._decided(number):
                    return "decided"
                try:
                    mask = next(masks)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                self.progress.looked += 1
                if self._wanted(number) and not self._propose(number, mask):
                    return "decided"
        return None

    def _propose(self, number: int, mask: Pixels) -> bool:
        """False where somebody was quicker."""

        def check(record: ReviewRecord) -> None:
            if in_force(record.versions) is not None:
                raise _Decided("somebody has decided on this frame meanwhile.")

        try:
            propose_review(
                self._folder, frame_name(self._entry.name, number), mask, carried_from=self._origin.frame,
                who=self.progress.who, when=now(), version=__version__, model=self._origin.version.model,
                source=self._facts.digest, check=check,
            )  # fmt: skip
        except _Decided:
            return False
        self.progress.frames.append(number)
        return True

    def _decided(self, number: int) -> bool:
        record = known_record(self._folder, frame_name(self._entry.name, number))
        return in_force(record.versions) is not None

    def _pictures(self, reader: FrameSeeker, way: int) -> Iterator[Pixels]:
        """The frames after the origin, or those before it from the nearest on, as small as the rules need."""
        first = self._origin.frame
        if way > 0:
            yield from (self._small(reader.read(number)) for number in range(first + 1, len(self._facts.index)))
            return
        for end in range(first, 0, -CHUNK):
            chunk = [self._small(reader.read(number)) for number in range(max(0, end - CHUNK), end)]
            yield from reversed(chunk)

    def _small(self, pixels: Pixels) -> Pixels:
        height, width = fit(pixels.shape[:2], self._rules.side)
        return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX))
