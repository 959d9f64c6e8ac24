"""Any frame by its number is the frame that reading from the beginning shows, whatever the container and the order."""

import random
from pathlib import Path

import numpy as np
import pytest

from endotransfer.data.read.video_frame_reader import VideoFrameReader
from endotransfer.data.read.video_reader import VideoReader, import_av
from endotransfer.errors import DataError

CODECS = {
    "v.mp4": ("libx264", "yuv420p"), "v.mov": ("mpeg4", "yuv420p"), "v.avi": ("mjpeg", "yuvj420p"),
    "v.webm": ("libvpx-vp9", "yuv420p"), "8.webm": ("libvpx", "yuv420p"),
}  # fmt: skip
FRAMES = 130


def write_video(path: Path, codec: str, form: str) -> None:
    """A grey level and a moving bar tell every frame; key frames are 30 apart, with frames between that look ahead."""
    pytest.importorskip("av")
    with import_av().open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt, stream.gop_size = 48, 64, form, 30
        for number in range(FRAMES):
            picture = np.full((48, 64, 3), number, np.uint8)
            picture[:, number % 60 : number % 60 + 4] = 255 - number
            container.mux(stream.encode(import_av().VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("name", CODECS)
def test_any_frame_is_the_one_that_reading_from_the_beginning_shows(tmp_path: Path, name: str) -> None:
    write_video(tmp_path / name, *CODECS[name])
    with VideoReader(tmp_path / name) as whole:
        shots = list(whole)
    order = [0, 1, 2, 100, 99, 129, 30, 29, 31, 90, *random.Random(0).sample(range(FRAMES), 12)]
    with VideoFrameReader(tmp_path / name) as reader:
        assert len(reader) == len(shots) == FRAMES
        for number in order:
            assert np.array_equal(reader.read(number), shots[number].pixels), number
            assert reader.seconds(number) == pytest.approx(float(shots[number].time or 0), abs=0.002)


def test_a_number_that_is_not_there_is_said(tmp_path: Path) -> None:
    write_video(tmp_path / "v.mp4", *CODECS["v.mp4"])
    with VideoFrameReader(tmp_path / "v.mp4") as reader, pytest.raises(DataError, match="it has 130 frames"):
        reader.read(130)
