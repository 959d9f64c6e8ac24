"""A video through the model: decode, inference, drawing and encoding side by side, each stage timed."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from endotransfer.data.folders.faults import failure
from endotransfer.data.read.image_limits import MAX_PIXELS
from endotransfer.data.read.video_reader import VideoReader
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.overlay import overlay
from endotransfer.predict.pipeline import DEPTH, Clocks, ahead
from endotransfer.predict.prediction import Marks, Pixels
from endotransfer.predict.shots import Marked, Shot, infer
from endotransfer.predict.video_writer import VideoWriter

STAGES = ("decode", "inference", "draw", "encode")
Drawn = tuple[Shot, Marks | None, Pixels]
Look = Callable[[Shot, Marks | None], None]  # what else is to be done with a frame: tables, masks


@dataclass(frozen=True)
class VideoReport:
    """What came of a video.  `stages`: seconds that decode, inference, draw and encode were at work."""

    frames: int
    unread: int
    seconds: float
    stages: dict[str, float]
    cut_short: str | None = None  # a sentence, where the file ends before it should

    @property
    def rate(self) -> float:
        """Frames a second, from the first read to the last written."""
        return self.frames / self.seconds

    @property
    def share_of_slowest(self) -> float:
        """This rate over that of the slowest stage alone: 1 where no stage ever waited for another."""
        return max(self.stages.values()) / self.seconds


def predict_video(
    predictor: ImagePredictor,
    video: VideoReader,
    out: Path,
    *,
    batch: int = 1,
    look: Look | None = None,
    watch: Callable[[Iterable[Drawn]], Iterable[Drawn]] = iter,
) -> VideoReport:
    """Write the annotated `out` (MP4): as many frames as `video` has, at the same times.

    A frame that cannot be read is black in `out`.  `look` sees every frame in order; `watch` may count them.
    """
    began, unread = time.perf_counter(), 0
    clocks = Clocks(STAGES)
    # A whole batch may wait, else the network stands still until most of its last one is drawn.
    depth = max(DEPTH, min(batch, MAX_PIXELS // (video.height * video.width)))
    shots = ahead(clocks.stage("decode", lambda _: iter(video), ()), depth)
    marked = ahead(clocks.stage("inference", partial(infer, predictor=predictor, batch=batch), shots), depth)
    drawn = ahead(clocks.stage("draw", partial(_draw, look=look, size=(video.height, video.width)), marked))
    with VideoWriter(out, video) as writer:
        written = clocks.stage("encode", partial(_write, writer=writer), watch(drawn))
        frames = 0
        for _, marks, _ in written:
            frames += 1
            unread += marks is None
        if not frames:
            raise failure("no-frames", video.path, "holds no frame", "copy it again from where it came from")
        closing = time.perf_counter()
    clocks.busy["encode"] += time.perf_counter() - closing  # the encoder's last frames
    return VideoReport(frames, unread, time.perf_counter() - began, clocks.busy, video.cut_short)


def _draw(marked: Iterable[Marked], look: Look | None, size: tuple[int, int]) -> Iterator[Drawn]:
    for shot, marks in marked:
        if look is not None:
            look(shot, marks)
        if shot.pixels is None or marks is None:
            yield shot, marks, np.zeros((*size, 3), np.uint8)
        else:
            yield shot, marks, overlay(shot.pixels, marks.mask)


def _write(drawn: Iterable[Drawn], writer: VideoWriter) -> Iterator[Drawn]:
    for shot, marks, pixels in drawn:
        assert shot.time is not None
        writer.write(pixels, shot.time)
        yield shot, marks, pixels
