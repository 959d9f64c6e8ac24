"""The grid of frames, the cache on disk, the page's types."""

from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from endotransfer.batch import Sample
from endotransfer.data.folders.video_files import list_videos
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.video.video_cache import FrameStore, VideoCache
from endotransfer.serve.video.video_walk import frames_at
from tests.clips import disc_of
from tests.serve.test_page_types import compare
from tests.serve.video.conftest import carried, correct, frame_of, video_of, walked


def slow_frames_at(times: list[float], rate: float) -> list[int]:
    """The first frame in each window of 1/rate seconds."""
    windows: dict[int, int] = {}
    for number, seconds in enumerate(times):
        windows.setdefault(int(seconds * rate + 1e-6), number)
    return list(windows.values())


def test_frames_at_a_rate_are_the_first_of_each_window() -> None:
    steady = [number / 25 for number in range(200)]
    uneven = [0, 0.04, 0.9, 0.95, 1.0, 3.4, 3.41, 3.9, 4.0]
    for times in (steady, uneven, []):
        for rate in (0.2, 1, 2, 5, 25, 1000):
            assert frames_at(times, rate) == slow_frames_at(times, rate)
    assert frames_at(steady, 1000) == list(range(200)) and frames_at(steady, 1) == list(range(0, 200, 25))


def entry(cache: VideoCache, number: int) -> CatalogueEntry:
    return CatalogueEntry("x", "x", Sample("x", cache.picture("d" * 32, number)), source="d" * 32)


def test_what_is_kept_is_read_back_and_half_a_file_counts_as_none(tmp_path: Path) -> None:
    cache = VideoCache(tmp_path)
    store, other = FrameStore(cache, ["a"]), FrameStore(cache, ["a", "b"])
    store.write(entry(cache, 7), {"area": 0.25, "doubt": 0.5, "shown": [4, 4]}, [b"one", b"two"])
    assert store.read(entry(cache, 7)) == ({"area": 0.25, "doubt": 0.5, "shown": [4, 4]}, [b"one", b"two"])
    assert list(store.all_figures("d" * 32)) == [(7, {"area": 0.25, "doubt": 0.5, "shown": [4, 4]})]
    assert other.read(entry(cache, 7)) is None and store.read(entry(cache, 8)) is None  # other models, other frame
    file = next(tmp_path.rglob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:40])
    assert store.read(entry(cache, 7)) is None and list(store.all_figures("d" * 32)) == []


def test_the_video_that_nobody_used_for_longest_makes_room(tmp_path: Path) -> None:
    cache = VideoCache(tmp_path, room=60_000)
    draw = np.random.default_rng(0)
    for digest in ("old", "new", "now"):
        cache.prepare(digest)
        cache.keep_picture(cache.picture(digest, 0), draw.integers(0, 256, (100, 100, 3)).astype(np.uint8))
    cache.prepare("now")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "now"]


def test_videos_lie_beside_the_images_or_in_a_folder_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for name in ("b.MP4", "videos/a.webm", "videos/b.MP4", "notes.txt", ".hidden.mp4"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "out.mp4").symlink_to("/etc/hostname")
    found = list_videos(tmp_path)
    assert list(found) == ["a.webm", "b.MP4"] and found["b.MP4"].parent == tmp_path


def test_the_service_sends_what_the_page_expects(clip: TestClient) -> None:
    video = video_of(clip)
    compare("VideoRow", clip.get("/api/videos").json()["videos"][0])
    compare("Walk", walked(clip, video, 1)["walk"])
    told = correct(clip, video, 10, disc_of(10))
    compare("Carrying", carried(clip, video, 10, told["revision"]))
    details = clip.get(f"/api/videos/{video}").json()
    compare("VideoDetails", details)
    waiting = next(one for one in details["decisions"].values() if one["carried"])
    compare("ReviewState", waiting)
    compare("Carried", waiting["carried"])
    compare("Row", frame_of(clip, video, 0))
