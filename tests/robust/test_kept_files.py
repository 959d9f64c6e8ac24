"""What the program keeps for itself (caches, logs, locks), in a folder that others write to or a disk damages."""

import json
import os
import zipfile
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from endotransfer.batch import Sample
from endotransfer.compare.folder_lock import alone_in
from endotransfer.compare.run_cell import Task, run_cell
from endotransfer.data.folders.review_files import reviews_lock
from endotransfer.data.pipeline import pixel_cache, superpixel_file
from endotransfer.data.pipeline.pixel_cache import PixelCache
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache
from endotransfer.data.read.frame_seeker import video_digest
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.run_lock import RunLock
from endotransfer.errors import ConfigError, DataError, EndotransferError
from endotransfer.export.graph_cache import choose_graph
from endotransfer.predict.prompts.embedding_store import _read as read_embedding
from endotransfer.serve.exports import _pack as pack
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.learning.job_file import JobFolder, TrainingJob
from endotransfer.serve.learning.job_log import JobLog, read_job_log
from endotransfer.serve.learning.retraining import Retraining
from endotransfer.serve.video.video_cache import FrameStore, VideoCache
from endotransfer.serve.video.video_walk import last_walk
from tests.robust.test_foreign_files import make_device, make_enormous, make_folder, make_pipe

DIGEST = "d" * 32
PICTURE = np.random.default_rng(0).integers(0, 255, (24, 32, 3)).astype(np.uint8)
CROP: tuple[int, int] = (24, 32)


def pixels(folder: Path) -> tuple[Path, Callable[[], object]]:
    cache = PixelCache(folder)
    cache.put("ab" * 16, (PICTURE.transpose(2, 0, 1), None), {"a note"})
    return folder / "ab" / ("ab" * 16), lambda: cache.get("ab" * 16, CROP, masks=False)


def frames(folder: Path) -> tuple[FrameStore, CatalogueEntry]:
    cache = VideoCache(folder)
    entry = CatalogueEntry("x", "x", Sample("x", cache.picture(DIGEST, 7)), source=DIGEST)
    store = FrameStore(cache, ["model"])
    store.write(entry, {"area": 0.25, "doubt": 0.5}, [b"one", b"two"])
    return store, entry


def whole_frame(folder: Path) -> tuple[Path, Callable[[], object]]:
    store, entry = frames(folder)
    return next(folder.rglob("*.safetensors")), lambda: store.read(entry)


def head_of_frame(folder: Path) -> tuple[Path, Callable[[], object]]:
    store, _ = frames(folder)
    return next(folder.rglob("*.safetensors")), lambda: store.read_figures(DIGEST, 7)


def embedding(folder: Path) -> tuple[Path, Callable[[], object]]:
    path = folder / "a.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path, lambda: read_embedding(path)


def log(folder: Path) -> tuple[Path, Callable[[], object]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "x.log").touch()
    return folder / "x.log", lambda: None if read_job_log(folder / "x.log") == JobLog() else "said something"


def walk_note(folder: Path) -> tuple[Path, Callable[[], object]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "walk.json").touch()
    return folder / "walk.json", lambda: None if last_walk(folder / "walk.json") == (0.0, "none") else "a walk"


KEPT = [pixels, whole_frame, head_of_frame, embedding, log, walk_note]


@pytest.mark.parametrize("make", [make_pipe, make_device, make_enormous, make_folder])
@pytest.mark.parametrize("keep", KEPT)
def test_what_is_no_usual_file_counts_as_absent(
    keep: Callable[[Path], tuple[Path, Callable[[], object]]], make: Callable[[Path], None], tmp_path: Path
) -> None:
    path, read = keep(tmp_path / "kept")
    path.unlink()
    make(path)
    assert read() is None


@pytest.mark.parametrize("make", [make_pipe, make_device, make_enormous])
def test_super_pixels_are_computed_where_the_cache_is_no_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    cache = SuperpixelCache(tmp_path)
    expected, path = cache.get(PICTURE), cache.path(PICTURE)
    path.unlink()
    make(path)
    assert (cache.get(PICTURE) == expected).all() and path.is_file()


def test_packed_super_pixels_are_unpacked_no_further_than_they_may_be() -> None:
    for content in (zlib.compress(b"\0" * 10**7), zlib.compress(b"\0"), b"no zlib"):
        head = superpixel_file.FORMAT + blake2b(content, digest_size=superpixel_file.DIGEST).digest()
        assert superpixel_file.decode_regions(head + content, 24, 32) is None


@pytest.mark.parametrize("notes", ["3", "{}", "[1]", "[[]]", "nonsense", "[" * 9000])
def test_a_pixel_file_with_other_notes_is_decoded_again(notes: str, tmp_path: Path) -> None:
    path, read = pixels(tmp_path)
    body = len(notes).to_bytes(4) + notes.encode() + PICTURE.tobytes()
    digest = blake2b(body, digest_size=pixel_cache.DIGEST).digest()
    path.write_bytes(pixel_cache.FORMAT + digest + body)
    assert read() is None


def test_every_flipped_bit_of_a_kept_frame_is_noticed(tmp_path: Path) -> None:
    path, read = whole_frame(tmp_path)
    whole, before = path.read_bytes(), read()
    assert before == ({"area": 0.25, "doubt": 0.5}, [b"one", b"two"])
    for place in np.random.default_rng(0).integers(len(whole) * 8, size=200).tolist():
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        assert read() in (None, before)


@pytest.mark.parametrize("file", ["config.json", "weights.safetensors"])
@pytest.mark.parametrize("make", [make_pipe, make_device, make_enormous])
def test_no_graph_is_looked_for_where_a_model_is_no_file(
    file: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    for name in {"config.json", "weights.safetensors"} - {file}:
        (tmp_path / name).write_bytes(b"{}")
    make(tmp_path / file)
    choice = choose_graph(tmp_path, 1000, lambda _: None)
    assert choice.folder is None and ("no model" in choice.why or "not installed" in choice.why)


def test_a_video_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    make_pipe(tmp_path / "a.mp4")
    with pytest.raises(DataError, match="not a regular file"):
        video_digest(tmp_path / "a.mp4")


def enter_run(folder: Path) -> None:
    RunLock(folder).acquire()


def enter(lock: Any, folder: Path) -> None:
    with lock(folder):
        pass


LOCKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "run": (".lock", enter_run),
    "benchmark": (".lock", lambda folder: enter(alone_in, folder)),
    "jobs": ("retraining/.lock", lambda folder: enter(lambda runs: JobFolder(runs).alone(), folder)),
    "reviews": ("reviewed/.lock", lambda folder: enter(reviews_lock, folder)),
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_follows_no_link_and_waits_for_no_pipe(name: str, tmp_path: Path) -> None:
    """Whoever hands over a run folder must not have a file of ours emptied when we train in it."""
    file, lock = LOCKS[name]
    path, mine = tmp_path / "folder" / file, tmp_path / "mine.txt"
    path.parent.mkdir(parents=True)
    mine.write_text("of value")
    made: list[Callable[[], object]] = [
        lambda: path.symlink_to(mine), lambda: path.symlink_to(tmp_path / "new"), lambda: make_pipe(path),
    ]  # fmt: skip
    for make in made:
        make()
        with pytest.raises((EndotransferError, OSError)) as caught:
            lock(tmp_path / "folder")
        assert "\n" not in str(caught.value)
        path.unlink()
    assert mine.read_text() == "of value" and not (tmp_path / "new").exists()
    lock(tmp_path / "folder")


def test_a_benchmark_folder_that_cannot_be_locked_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot use .*choose another --out"), alone_in(tmp_path / "file"):
        pass


def job(**changes: object) -> dict[str, object]:
    return {"out": "a-reviewed-1", "before": "a", "reviewed": 1, "began": 1.0, "pid": 1, "process": "x", **changes}


@pytest.mark.parametrize(
    "changes",
    [{"began": float("nan")}, {"began": float("inf")}, {"began": 1e300}, {"began": -1}, {"pid": 10**30}, {"pid": -1},
     {"out": "../x"}, {"out": "\ud800"}, {"first_step": 10**40}, {"reviewed": 10**400}, {"process": 3}],
)  # fmt: skip
def test_a_job_that_makes_no_sense_is_none(changes: dict[str, object], tmp_path: Path) -> None:
    """Or the page would get an answer that is no JSON."""
    folder = JobFolder(tmp_path)
    folder.path.mkdir()
    (folder.path / "a.json").write_text(json.dumps(job(**changes)))
    assert folder.read_all() == [] and Retraining(tmp_path / "a").status() is None


def test_the_log_of_a_job_does_not_reach_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, folder = tmp_path / "mine.txt", JobFolder(tmp_path)
    mine.write_text("of value")
    folder.path.mkdir()
    known = TrainingJob.model_validate(job(process=None))
    folder.log_of(known).symlink_to(mine)
    monkeypatch.setattr("endotransfer.serve.learning.retraining.start_process", lambda command, log: os.getpid())
    Retraining(tmp_path / "a")._begin(known)
    assert mine.read_text() == "of value" and folder.log_of(known).read_bytes() == b""


def test_somebodys_copy_of_a_pass_is_left_alone(tmp_path: Path) -> None:
    """A file manager calls it so; training went on until it wanted to tidy up."""
    store = MapStore(tmp_path / "maps", classes=2)
    for epoch in (1, 2):
        store.open_pass(epoch)
        store.store(["a"], torch.zeros((1, 4, 4), dtype=torch.uint8))
        store.flush()
        store.close_pass(epoch)
    (tmp_path / "maps" / "epoch-0001 (copy)").mkdir()
    store.forget_before(2)
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == ["epoch-0001 (copy)", "epoch-0002"]


def test_a_finished_pass_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses its power must not leave a named pass of empty maps."""
    found: list[list[str]] = []

    def see(folder: Path) -> None:
        found.append(sorted(path.name for path in folder.iterdir()))
        assert not (tmp_path / "maps" / "epoch-0001").exists()

    monkeypatch.setattr("endotransfer.engine.map_index.sync_file_system", see)
    store = MapStore(tmp_path / "maps", classes=2)
    store.open_pass(1)
    store.store(["a"], torch.zeros((1, 4, 4), dtype=torch.uint8))
    store.flush()
    store.close_pass(1)
    assert found == [["a.png", "index.json"]]
    assert Image.open(tmp_path / "maps" / "epoch-0001" / "a.png").size == (4, 4)


def test_a_cache_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "videos", tmp_path / "file"):
        with pytest.raises(DataError, match=r"cannot make the cache folder .*ENDOTRANSFER_CACHE"):
            VideoCache(folder).prepare(DIGEST)


def test_a_video_that_vanishes_while_it_is_counted_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two viewers make room at once."""
    cache = VideoCache(tmp_path, room=1)
    cache.prepare("a" * 32)

    def vanished(path: Path, pattern: str) -> Any:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "rglob", vanished)
    cache.prepare(DIGEST)
    assert cache.folder_of(DIGEST).is_dir()


def test_an_export_is_packed_whatever_the_clock_says(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.png").write_bytes(b"x")
    os.utime(tmp_path / "folder" / "a.png", (0, 0))
    pack(tmp_path / "folder", tmp_path / "x.zip")
    assert zipfile.ZipFile(tmp_path / "x.zip").namelist() == ["a.png"]


def test_the_log_of_a_cell_follows_no_link(make_experiment: Any, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("of value")
    (tmp_path / "a.log").symlink_to(mine)
    with pytest.raises(OSError, match="symbolic links"):
        run_cell(Task(make_experiment("tagged", "source_only"), tmp_path / "run", tmp_path / "a.log"))
    assert mine.read_text() == "of value"
