"""One walk through a video: frames at a rate are taken out, predicted and kept, in a thread of its own."""

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from endotransfer.data.read.frame_seeker import FrameSeeker
from endotransfer.data.read.shot import Pixels
from endotransfer.errors import DataError, EndotransferError
from endotransfer.io import read_json_object, write_atomically
from endotransfer.serve.answers import Refusal, refuse_fault

MOST = 20_000  # frames of one video
FASTEST = 1000.0  # frames a second
State = Literal["none", "running", "stopped", "done", "failed"]
WALK = "walk.json"
_log = logging.getLogger("endotransfer.serve")


def frames_at(times: list[float], rate: float) -> list[int]:
    """The numbers of the frames at `rate` a second: of each 1/rate seconds the first."""
    found, last = [], -1
    for number, seconds in enumerate(times):
        place = int(seconds * rate + 1e-6)
        if place > last:
            found.append(number)
            last = place
    return found


@dataclass
class WalkProgress:
    """`left`: seconds; `lost`: frames that cannot be decoded."""

    state: State = "none"
    rate: float = 0.0
    done: int = 0
    total: int = 0
    left: float | None = None
    fault: str = ""
    lost: list[int] = field(default_factory=list)


class VideoWalk:
    """Goes over `numbers`; what is there already costs nothing, so that it goes on where it was."""

    def __init__(
        self, file: Path, numbers: list[int], rate: float, *, known: Callable[[int], bool],
        take: Callable[[int, Callable[[], Pixels]], object], somebody_waits: Callable[[], bool], note: Path,
    ) -> None:  # fmt: skip
        self._file, self._numbers, self._known, self._take = file, numbers, known, take
        self._waits, self._note = somebody_waits, note
        self._stop = threading.Event()
        self.progress = WalkProgress("running", rate, 0, len(numbers))
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._write("running")
        self._thread.start()

    def stop(self, *, for_good: bool) -> None:
        """`for_good`: a person wants it; else the server ends, and the next one goes on."""
        self._stop.set()
        self._thread.join()
        if for_good and self.progress.state == "stopped":
            self._write("stopped")

    def _work(self) -> None:
        progress = self.progress
        try:
            self._walk()
            progress.state = "stopped" if self._stop.is_set() else "done"
            if progress.state == "done":
                self._write("done")
        except Refusal as refusal:
            progress.fault, progress.state = refusal.message, "failed"
        except EndotransferError as reason:
            _log.warning("%s", reason)
            progress.fault, progress.state = refuse_fault(reason).message, "failed"
        except Exception:
            _log.exception("a video cannot be predicted")
            progress.fault, progress.state = "the prediction failed; the terminal has the details.", "failed"

    def _walk(self) -> None:
        progress, spent = self.progress, 0.0
        todo = [number for number in self._numbers if not self._known(number)]
        progress.done = progress.total - len(todo)
        if not todo:
            return
        with FrameSeeker(self._file) as reader:
            for place, number in enumerate(todo):
                while self._waits() and not self._stop.is_set():
                    time.sleep(0.01)
                if self._stop.is_set():
                    return
                began = time.monotonic()
                try:
                    self._take(number, lambda number=number: reader.read(number))  # type: ignore[misc]
                except DataError as reason:
                    if not self._file.exists():
                        raise Refusal(410, "vanished", "the video is no longer there; put it back.") from None
                    _log.warning("%s", reason)
                    progress.lost.append(number)
                spent += time.monotonic() - began
                progress.done += 1
                progress.left = spent / (place + 1) * (len(todo) - place - 1)

    def _write(self, state: str) -> None:
        try:
            self._note.parent.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise DataError(f"cannot write to {self._note.parent}: {reason.strerror}; check space.") from None
        write_atomically(self._note, json.dumps({"rate": self.progress.rate, "state": state}), DataError)


def last_walk(note: Path) -> tuple[float, str]:
    """(rate, state) of the last walk; (0, "none") where there was none."""
    try:
        found = read_json_object(note, DataError)
        rate, state = float(str(found["rate"])), str(found["state"])
        return (rate, state) if 0 < rate <= FASTEST and state in get_args(State) else (0.0, "none")
    except (DataError, KeyError, ValueError):
        return 0.0, "none"
