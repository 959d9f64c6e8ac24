"""Video: frame for frame, at the same times, whatever the container; a broken frame costs itself alone."""

from fractions import Fraction
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from endotransfer.data.read.video_reader import VideoReader, import_av
from endotransfer.errors import DataError
from endotransfer.predict.overlay import overlay
from endotransfer.predict.prediction import Marks
from endotransfer.predict.shots import Shot, infer
from endotransfer.predict.video import predict_video
from endotransfer.predict.video_writer import VideoWriter
from tests.predict.conftest import MakeVideo, TopHalf, break_packet

CODECS = {
    "v.mp4": ("libx264", "yuv420p"), "v.mov": ("mpeg4", "yuv420p"), "v.avi": ("mjpeg", "yuvj420p"),
    "v.webm": ("libvpx-vp9", "yuv420p"), "8.webm": ("libvpx", "yuv420p"),
}  # fmt: skip
NTSC = Fraction(30000, 1001)


def shots_of(path: Path) -> list[Shot]:
    with VideoReader(path) as reader:
        return list(reader)


def facts_of(path: Path) -> tuple[int, Fraction, float]:
    """Frames, rate, length in seconds, by the library itself."""
    av = import_av()
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        return sum(1 for _ in container.decode(video=0)), stream.average_rate, container.duration / av.time_base


@pytest.mark.parametrize("rate", [Fraction(25), NTSC], ids=["25", "ntsc"])
@pytest.mark.parametrize("name", CODECS)
def test_an_annotated_video_has_the_frames_the_rate_and_the_length_of_its_original(
    name: str, rate: Fraction, make_video: MakeVideo, tmp_path: Path, top_half: TopHalf
) -> None:
    codec, pixel_format = CODECS[name]
    video, out = make_video(name, codec=codec, pixel_format=pixel_format, rate=rate), tmp_path / "out.mp4"
    with VideoReader(video) as reader:
        report = predict_video(top_half, reader, out, batch=3)
    assert (report.frames, report.unread, report.cut_short) == (20, 0, None)
    before, after = facts_of(video), facts_of(out)
    assert after[:2] == before[:2] == (20, rate)
    assert after[2] == pytest.approx(before[2], abs=0.001)
    assert report.stages.keys() == {"decode", "inference", "draw", "encode"}
    assert 0 < report.share_of_slowest <= 1.001 and report.rate == pytest.approx(20 / report.seconds)


def test_the_frames_are_those_of_the_original_with_the_overlay(
    make_video: MakeVideo, tmp_path: Path, top_half: TopHalf
) -> None:
    video, out = make_video("v.mp4", frames=8), tmp_path / "out.mp4"
    seen: list[tuple[int | None, Marks | None]] = []
    with VideoReader(video) as reader:
        predict_video(top_half, reader, out, look=lambda shot, marks: seen.append((shot.frame, marks)))
    assert [frame for frame, _ in seen] == list(range(8))
    for before, after, (_, marks) in zip(shots_of(video), shots_of(out), seen, strict=True):
        assert before.pixels is not None and after.pixels is not None and marks is not None
        expected = overlay(before.pixels, marks.mask)
        assert np.abs(expected.astype(int) - after.pixels).mean() < 12  # compressed twice


@pytest.mark.parametrize("size", [(63, 47), (64, 47), (63, 48)])
def test_odd_sizes_stay(size: tuple[int, int], make_video: MakeVideo, tmp_path: Path, top_half: TopHalf) -> None:
    video = make_video("odd.mp4", pixel_format="yuv444p", size=size, frames=3)
    with VideoReader(video) as reader:
        predict_video(top_half, reader, tmp_path / "out.mp4")
    with VideoReader(tmp_path / "out.mp4") as reader:
        assert (reader.width, reader.height) == size


def test_uneven_times_are_kept(tmp_path: Path, make_video: MakeVideo, top_half: TopHalf) -> None:
    with VideoReader(make_video("v.mp4", frames=2)) as like, VideoWriter(tmp_path / "uneven.mp4", like) as writer:
        for tenths in (0, 1, 5, 6, 20):
            writer.write(np.zeros((48, 64, 3), np.uint8), Fraction(tenths, 10))
    with VideoReader(tmp_path / "uneven.mp4") as reader:
        predict_video(top_half, reader, tmp_path / "out.mp4")
    times = [shot.time for shot in shots_of(tmp_path / "out.mp4")]
    assert [float(time or 0) for time in times] == pytest.approx([0, 0.1, 0.5, 0.6, 2.0], abs=0.001)


@pytest.mark.parametrize("name", CODECS)
def test_a_broken_frame_is_reported_and_black_and_the_rest_goes_on(
    name: str, make_video: MakeVideo, tmp_path: Path, top_half: TopHalf
) -> None:
    codec, pixel_format = CODECS[name]
    video, out = make_video(name, codec=codec, pixel_format=pixel_format), tmp_path / "out.mp4"
    break_packet(video, 12)
    lost: list[Shot] = []
    with VideoReader(video) as reader:
        report = predict_video(
            top_half, reader, out, look=lambda shot, marks: lost.append(shot) if marks is None else None
        )
    assert report.frames == 20 and 1 <= report.unread <= 8 and len(lost) == report.unread
    assert all(f"frame {shot.frame} " in str(shot.fault) for shot in lost)
    assert facts_of(out)[0] == 20
    black = shots_of(out)[lost[0].frame or 0].pixels
    assert black is not None and black.mean() < 20


def test_a_frame_whose_time_passes_is_lost_even_if_no_error_is_raised(
    make_video: MakeVideo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoders drop frames silently; here the reader is given a stream with one packet's picture withheld."""
    with VideoReader(make_video("v.mp4", frames=10)) as reader:
        whole = reader._packets

        class Silent:
            """A packet that gives nothing."""

            def __init__(self, packet: Any) -> None:
                self.pts, self.size, self.is_discard = packet.pts, packet.size, False

            def decode(self) -> list[Any]:
                return []

        def packets() -> Any:
            for index, packet in enumerate(whole()):
                yield Silent(packet) if index == 9 else packet

        monkeypatch.setattr(reader, "_packets", packets)
        shots = list(reader)
    assert len(shots) == 10
    assert [shot.frame for shot in shots if shot.pixels is None] != []


def test_a_video_that_was_cut_is_read_as_far_as_it_goes(make_video: MakeVideo) -> None:
    video = make_video("v.webm", codec="libvpx-vp9", frames=40)
    video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    with VideoReader(video) as reader:
        shots = list(reader)
        assert 0 < len(shots) < 40
        assert reader.cut_short is not None and "ends after" in reader.cut_short


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"#EXTM3U\nfile:///etc/passwd\n", "is not an MP4, MOV, AVI or WebM video"),
        (b"", "is not an MP4"),
        (b"\0\0\0\x18ftypmp42 and no more", "cannot be opened"),
        (b"RIFF\0\0\0\0AVI and no more", "cannot be opened|holds no pictures"),
    ],
)
def test_what_is_no_video_is_refused_by_its_content(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "v.mp4").write_bytes(content)
    with pytest.raises(DataError, match=what):
        VideoReader(tmp_path / "v.mp4")


def test_a_missing_file_and_a_giant_are_refused(
    tmp_path: Path, make_video: MakeVideo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        VideoReader(tmp_path / "none.mp4")
    video = make_video("v.mp4", frames=2)
    monkeypatch.setattr("endotransfer.data.read.image_limits.MAX_PIXELS", 100)
    with pytest.raises(DataError, match="64 x 48 pixels, more than"):
        VideoReader(video)


def test_nothing_is_left_where_encoding_fails(make_video: MakeVideo, tmp_path: Path, top_half: TopHalf) -> None:
    def fail(shot: Shot, marks: Marks | None) -> None:
        raise DataError("the disk is full")

    with VideoReader(make_video("v.mp4")) as reader, pytest.raises(DataError, match="disk is full"):
        predict_video(top_half, reader, tmp_path / "out.mp4", look=fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.mp4"]


def test_batches_hold_no_more_pixels_than_one_image_may_have(
    top_half: TopHalf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endotransfer.predict.shots.MAX_PIXELS", 100)
    sizes: list[int] = []

    def marked(images: list[Any]) -> list[Marks]:
        sizes.append(len(images))
        return TopHalf.mark_batch(top_half, images)

    monkeypatch.setattr(top_half, "mark_batch", marked)
    small, large = np.zeros((5, 5, 3), np.uint8), np.zeros((9, 11, 3), np.uint8)
    shots = [Shot(str(index), "", pixels) for index, pixels in enumerate([small, None, small, large, small, small])]
    assert [marks is None for _, marks in infer(shots, top_half, batch=4)] == [False, True, *[False] * 4]
    assert sizes == [2, 1, 2]


def test_the_network_looks_at_the_next_batch_while_the_last_one_is_drawn(
    make_video: MakeVideo, tmp_path: Path, top_half: TopHalf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first frame is not drawn before the network has begun its second batch: held-up batches would never end."""
    second, sizes = Event(), []

    def marked(images: list[Any]) -> list[Marks]:
        sizes.append(len(images))
        if len(sizes) == 2:
            second.set()
        return TopHalf.mark_batch(top_half, images)

    def hold(shot: Shot, marks: Marks | None) -> None:
        assert second.wait(10), "the network waits for its own last batch"

    monkeypatch.setattr(top_half, "mark_batch", marked)
    with VideoReader(make_video("v.mp4")) as reader:
        predict_video(top_half, reader, tmp_path / "out.mp4", batch=10, look=hold)
    assert sizes == [10, 10]
