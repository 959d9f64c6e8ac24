"""Any frame by its number is the frame that reading from the beginning gives."""

from pathlib import Path

import numpy as np
import pytest

from endotransfer.data.read.frame_seeker import FrameIndex, FrameSeeker, video_digest
from endotransfer.data.read.video_reader import VideoReader
from endotransfer.errors import DataError
from tests.clips import write_clip
from tests.predict.conftest import break_packet

ASKED = [0, 1, 2, 20, 3, 29, 14, 15, 0, 29]


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "libx264"), ("a.avi", "mpeg4"), ("a.webm", "libvpx")])
def test_a_frame_is_that_of_its_number(tmp_path: Path, name: str, codec: str) -> None:
    path = write_clip(tmp_path / name, frames=30, codec=codec)
    with VideoReader(path) as reader:
        shots = list(reader)
    with FrameSeeker(path) as seeker:
        index = seeker.make_index()
    assert (index.stamps is None) == (codec == "libvpx")  # its packets may show nothing
    assert index.times == [float(shot.time or 0) for shot in shots]
    with FrameSeeker(path, index) as seeker:
        for number in ASKED:
            expected = shots[number].pixels
            assert expected is not None and np.array_equal(seeker.read(number), expected)


def test_a_broken_frame_is_lost_and_the_others_are_not(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4", 30)
    break_packet(path, 20)
    with VideoReader(path) as reader:
        whole = [shot.frame for shot in reader if shot.pixels is not None]
    assert whole[:12] == list(range(12)) and len(whole) < 30
    with FrameSeeker(path) as seeker:
        lost = next(number for number in range(30) if number not in whole)
        with pytest.raises(DataError, match=f"frame {lost}"):
            seeker.read(lost)
        assert seeker.read(3).shape == (64, 64, 3)
        with pytest.raises(DataError, match="is not there"):
            seeker.read(30)


def test_a_video_is_told_from_another(tmp_path: Path) -> None:
    one, other = write_clip(tmp_path / "a.mp4", 5), write_clip(tmp_path / "b.mp4", 6)
    copy = tmp_path / "c.mp4"
    copy.write_bytes(one.read_bytes())
    assert video_digest(one) == video_digest(copy) != video_digest(other)
    with pytest.raises(DataError, match="cannot be read"):
        video_digest(tmp_path / "none.mp4")


def test_an_index_has_a_length() -> None:
    assert len(FrameIndex([0.0, 0.1], None)) == 2
