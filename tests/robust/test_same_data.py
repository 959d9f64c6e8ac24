"""A run goes on with the data it began with, alone in its folder, and with the maps that it stored itself."""

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import list_steps
from endotransfer.engine.data_record import DataRecord
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.run_lock import RunLock
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import CheckpointError, ConfigError, DataError
from tests.robust.conftest import CONFIG, says


def first(folder: Path) -> Path:
    return sorted(folder.iterdir())[0]


def flip_tag(study: Path) -> str:
    table = study / "capsule" / "labels.csv"
    lines = table.read_text().splitlines()
    index = next(i for i, line in enumerate(lines) if ",normal," in line and line.endswith("train"))
    lines[index] = lines[index].replace(",normal,", ",lesion,")
    table.write_text("\n".join(lines) + "\n")
    return f"the tag of capsule/{lines[index].split(',')[0]}"


def replace_pixels(study: Path) -> str:
    path = first(study / "gastroscopy" / "images")
    before = path.stat()
    Image.fromarray(255 - np.asarray(Image.open(path))).save(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a copy that keeps its times would
    return f"the image of gastroscopy/{path.stem}"


def shift_mask(study: Path) -> str:
    path = first(study / "gastroscopy" / "masks")
    mask = np.asarray(Image.open(path))
    Image.fromarray(np.roll(mask, 3, axis=1)).save(path)
    return f"the mask of gastroscopy/{path.stem}"


@pytest.mark.parametrize("change", [flip_tag, replace_pixels, shift_mask])
def test_a_run_does_not_go_on_with_changed_contents(
    change: Callable[[Path], str], make_experiment: Any, study: Path, tmp_path: Path
) -> None:
    experiment = make_experiment("tagged", "semantic_transfer", data=study, epochs=1, steps_per_epoch=2)
    engine.train(experiment, tmp_path / "run")
    (tmp_path / "run" / "results.json").unlink()
    changed = change(study)
    with pytest.raises(DataError, match=rf"images have changed since .* \({changed}\)"):
        engine.train(experiment, tmp_path / "run", resume=True)


def test_touched_and_copied_files_are_the_same_data(make_experiment: Any, study: Path, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "source_only", data=study, epochs=1, steps_per_epoch=2)
    results = engine.train(experiment, tmp_path / "run")
    shutil.copytree(study, tmp_path / "copy")
    shutil.rmtree(study)
    (tmp_path / "copy").rename(study)
    assert engine.train(experiment, tmp_path / "run", resume=True) == results


def test_a_run_of_an_older_version_is_compared_by_names(
    make_experiment: Any, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had neither digests of contents nor an index of its maps."""
    settings = {"epochs": 1, "steps_per_epoch": 3, "checkpoint_every": 1}
    experiment = make_experiment("tagged", "semantic_transfer", "paper", data=study, **settings)
    with monkeypatch.context() as patched:
        patched.setattr(DataRecord, "digest", DataRecord.names_digest)
        patched.setattr(Trainer, "_save_if_due", stop_after(2))
        assert engine.train(experiment, tmp_path / "run") is None
    for index in (tmp_path / "run" / "maps").rglob("index.json"):
        index.unlink()
    assert engine.train(experiment, tmp_path / "run", resume=True) is not None


def stop_after(step: int) -> Any:
    original = Trainer._save_if_due

    def save(self: Trainer, event: Any) -> None:
        if self.step == step:
            self.stop.ask()
        original(self, event)

    return save


def test_target_masks_are_not_hashed(make_experiment: Any, study: Path, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "semantic_transfer", data=study, epochs=1, steps_per_epoch=2)
    engine.train(experiment, tmp_path / "run")
    text = (tmp_path / "run" / "data.json").read_text()
    assert str(first(study / "gastroscopy" / "masks")) in text
    assert not any(str(mask) in text for mask in (study / "capsule" / "masks").iterdir())


# --- a folder for one process ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".config.yaml.0a1b2c3d.part", ".config.yaml.k3_x9abc.part"])
@pytest.mark.parametrize("asked", [{}, {"resume": True}, {"force": True}])
def test_a_kill_in_the_first_write_can_be_gone_on_from(
    asked: Any, name: str, make_experiment: Any, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("data: {sour")
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1)
    assert engine.train(experiment, tmp_path / "run", **asked) is not None
    assert not (tmp_path / "run" / name).exists()


def test_a_kill_while_an_old_run_is_removed_leaves_one_that_can_be(make_experiment: Any, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1)
    run = tmp_path / "run"
    engine.train(experiment, run)
    for entry in run.iterdir():
        if entry.name not in ("config.yaml", "metrics.csv"):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    assert engine.train(experiment, run, force=True) is not None


HOLD = """
import sys, time
from pathlib import Path
from endotransfer.engine.run_lock import RunLock
lock = RunLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """Another process that trains in `run`, as far as the lock is concerned."""
    (tmp_path / "run").mkdir(exist_ok=True)
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("asked", ["--resume", "--force"])
def test_two_processes_do_not_train_in_one_folder(
    asked: str, command: Any, experiment: Path, tmp_path: Path, make_experiment: Any, request: pytest.FixtureRequest
) -> None:
    assert command("train", experiment, "--out", tmp_path / "run")[0] == 0
    before = (tmp_path / "run" / "metrics.csv").read_text()
    holder = request.getfixturevalue("holder")
    code, output = command("train", experiment, "--out", tmp_path / "run", asked)
    assert code == CONFIG
    says(output, f"process {holder.pid} is training in")
    assert (tmp_path / "run" / "metrics.csv").read_text() == before
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert command("train", experiment, "--out", tmp_path / "run", asked)[0] == 0


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    lock.acquire()
    lock.release()
    RunLock(tmp_path).acquire()


def test_a_folder_that_cannot_be_locked_is_one_sentence(make_experiment: Any, tmp_path: Path) -> None:
    (tmp_path / "run" / ".lock").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot use"):
        engine.train(make_experiment("tagged", "source_only"), tmp_path / "run")


# --- stored maps -----------------------------------------------------------------------------------------------------


def exchange(folder: Path) -> None:
    path = first(folder / "capsule")
    labels = np.asarray(Image.open(path))
    Image.fromarray(np.where(labels == 255, labels, 1 - labels).astype(np.uint8)).save(path)


def impossible(folder: Path) -> None:
    path = first(folder / "capsule")
    Image.fromarray(np.full_like(np.asarray(Image.open(path)), 7)).save(path)


def emptied(folder: Path) -> None:
    for path in (folder / "capsule").iterdir():
        path.write_bytes(b"")


def lost(folder: Path) -> None:
    first(folder / "capsule").unlink()


@pytest.mark.parametrize("damage", [exchange, impossible, emptied, lost])
def test_maps_that_are_not_those_stored_are_never_trained_on(
    damage: Callable[[Path], None], make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint within the damaged epoch is passed over; the one before it goes on, and none is removed."""
    settings = {"epochs": 3, "steps_per_epoch": 2, "checkpoint_every": 1}
    experiment = make_experiment("tagged", "semantic_transfer", "paper", **settings)
    original = Trainer._train_step
    stopped_at = 5

    def stopping(self: Trainer, *args: Any) -> Any:
        if self.step == stopped_at - 1:
            self.stop.ask()
        return original(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_train_step", stopping)
        engine.train(experiment, tmp_path / "run")
    assert list_steps(tmp_path / "run" / "checkpoints") == [4, 5]
    damage(tmp_path / "run" / "maps" / "epoch-0002")
    said = Console(file=io.StringIO(), width=300)
    assert engine.train(experiment, tmp_path / "run", resume=True, console=said) is not None
    assert list_steps(tmp_path / "run" / "checkpoints") == [5, 6]
    assert isinstance(said.file, io.StringIO) and "the stored map" in said.file.getvalue()


def test_a_resealed_map_of_no_class_is_refused(tmp_path: Path) -> None:
    import torch

    store = MapStore(tmp_path / "maps", classes=2)
    store.open_pass(0)
    store.store(["a/1"], torch.full((1, 4, 4), 7, dtype=torch.uint8))
    store.flush()
    store.close_pass(0)
    with pytest.raises(CheckpointError, match="labels of no class"):
        store.read(0, "a/1")
