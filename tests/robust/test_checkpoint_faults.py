"""Kills, full disks, missing rights and damaged bytes, all of them real."""

import itertools
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor

from endotransfer.engine.checkpoint import list_steps, load_checkpoint, load_latest, save_checkpoint
from endotransfer.errors import CheckpointError

KILLS = int(os.environ.get("ENDOTRANSFER_KILLS", "50"))
MUTATIONS = int(os.environ.get("ENDOTRANSFER_MUTATIONS", "2500"))
MEGABYTE = 2**20


def content(number: int, size: int = MEGABYTE) -> dict[str, dict[str, Tensor]]:
    """Three times `size` bytes, every element telling the number."""
    floats = torch.full((size // 4,), float(number))
    return {"weights": {"w": floats}, "optimiser": {"m": floats, "v": floats}}


def save(folder: Path, step: int, number: int, size: int = MEGABYTE) -> Path:
    return save_checkpoint(folder, step, content(number, size), {"number": number})


def hidden(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def number_in(folder: Path) -> int:
    """The number of the newest checkpoint, all parts of which must agree; no warning is acceptable."""
    checkpoint, warnings = load_latest(folder)
    assert warnings == []
    number = checkpoint.state["number"]
    assert isinstance(number, int)
    assert all(tensor.eq(number).all() for group in checkpoint.tensors.values() for tensor in group.values())
    return number


# --- kills


def kill_while_saving(folder: Path, delay: float, *, same_step: bool) -> None:
    """Fork (torch is already imported), let the child save back to back, kill it after `delay` seconds."""
    child = os.fork()
    if child == 0:
        try:
            for number in itertools.count(1):
                save(folder, 0 if same_step else number, number)
        finally:
            os._exit(1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"


@pytest.mark.parametrize("same_step, kills", [(False, KILLS), (True, KILLS // 2)], ids=["new steps", "same step"])
def test_every_kill_while_saving_leaves_a_loadable_run(tmp_path: Path, same_step: bool, kills: int) -> None:
    moments = random.Random(7)
    interrupted = progressed = 0
    for run in range(kills):
        folder = tmp_path / str(run)
        started = time.monotonic()
        save(folder, 0, 0)
        longest = min(max(0.2, 4 * (time.monotonic() - started)), 2.0)  # a few saves, on a busy machine too
        kill_while_saving(folder, moments.uniform(0.005, longest), same_step=same_step)
        interrupted += bool(hidden(folder))
        progressed += number_in(folder) > 0
        save(folder, max(list_steps(folder)), -1)
        assert number_in(folder) == -1 and hidden(folder) == []
        shutil.rmtree(folder)
    # Else the kills fell where they could do no harm.
    print(f"{kills} kills: {interrupted} in mid-save, {progressed} after a new checkpoint")
    assert interrupted > 0 and progressed > 0


# --- damaged bytes


def mutated(raw: bytes, dice: random.Random) -> bytes:
    changed = bytearray(raw)
    at = dice.randrange(len(raw))
    match dice.choice(["bit", "bit", "bytes", "cut", "grow", "drop", "zero", "repeat"]):
        case "bit":
            changed[at] ^= 1 << dice.randrange(8)
        case "bytes":
            for _ in range(dice.randint(1, 16)):
                changed[dice.randrange(len(raw))] = dice.randrange(256)
        case "cut":
            del changed[at:]
        case "grow":
            changed += dice.randbytes(dice.randint(1, 32))
        case "drop":
            del changed[at : at + dice.randint(1, 32)]
        case "zero":
            changed[at : at + 32] = bytes(len(changed[at : at + 32]))
        case "repeat":
            changed[at:at] = changed[at : at + 16]
    return bytes(changed)


def test_every_mutation_is_rejected_with_a_checkpoint_error(tmp_path: Path) -> None:
    dice = random.Random(11)
    path = save(tmp_path, 1, 5, size=256)
    originals = {file: file.read_bytes() for file in sorted(path.iterdir())}
    tried = 0
    while tried < MUTATIONS:
        file, raw = dice.choice(list(originals.items()))
        if (changed := mutated(raw, dice)) == raw:
            continue
        tried += 1
        file.write_bytes(changed)
        with pytest.raises(CheckpointError):
            load_checkpoint(path)
        file.write_bytes(raw)
    assert number_in(tmp_path) == 5


# --- full disk


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of five megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=5m", "tmpfs", str(disk)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_told_and_costs_nothing(tiny_disk: Path) -> None:
    folder = tiny_disk / "checkpoints"
    save(folder, 1, 1)
    with pytest.raises(CheckpointError, match="the disk is full"):
        save(folder, 2, 2)
    assert list_steps(folder) == [1] and number_in(folder) == 1 and hidden(folder) == []
    save(folder, 2, 2, size=1024)
    assert list_steps(folder) == [1, 2] and number_in(folder) == 2


def test_leftovers_of_a_kill_do_not_fill_the_disk(tiny_disk: Path) -> None:
    folder = tiny_disk / "checkpoints"
    (folder / ".step-00000001.part").mkdir(parents=True)
    (folder / ".step-00000001.part" / "weights.safetensors").write_bytes(bytes(4 * MEGABYTE))
    save(folder, 2, 2)
    assert number_in(folder) == 2


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("step", [1, 2], ids=["same step", "next step"])
def test_a_file_that_cannot_be_written_in_full_leaves_the_previous_checkpoint(tmp_path: Path, step: int) -> None:
    save(tmp_path, 1, 1)
    with (
        files_no_larger_than(MEGABYTE // 2),
        pytest.raises(CheckpointError, match=r"cannot write .*File too large"),
    ):
        save(tmp_path, step, 2)
    assert list_steps(tmp_path) == [1] and number_in(tmp_path) == 1 and hidden(tmp_path) == []


# --- rights, links and files in the way


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder every user can reach, which pytest's own folders are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Root may write anywhere, so step down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_folder_is_told_and_its_checkpoint_stays(open_folder: Path) -> None:
    folder = open_folder / "checkpoints"
    save(folder, 1, 1, size=64)
    folder.chmod(0o555)
    with as_ordinary_user(), pytest.raises(CheckpointError, match=r"cannot write .*Permission denied"):
        save(folder, 2, 2, size=64)
    folder.chmod(0o755)
    assert list_steps(folder) == [1] and number_in(folder) == 1


def test_a_folder_that_cannot_be_made_is_told(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    with as_ordinary_user(), pytest.raises(CheckpointError, match=r"cannot write .*Permission denied"):
        save(open_folder / "run" / "checkpoints", 1, 1, size=64)
    open_folder.chmod(0o755)


@pytest.mark.parametrize("what", ["folder", "step", "manifest.json", "weights.safetensors"])
def test_an_unreadable_checkpoint_is_told(open_folder: Path, what: str) -> None:
    folder = open_folder / "checkpoints"
    step = save(folder, 1, 1, size=64)
    locked = {"folder": folder, "step": step}.get(what, step / what)
    locked.chmod(0)
    with as_ordinary_user(), pytest.raises(CheckpointError, match=r"cannot read .*Permission denied"):
        load_latest(folder)
    locked.chmod(0o755)
    assert number_in(folder) == 1


def test_a_file_where_a_folder_belongs_is_told_and_kept(tmp_path: Path) -> None:
    precious = tmp_path / "file"
    precious.write_text("precious")
    for folder in (precious, precious / "below"):
        with pytest.raises(CheckpointError, match=r"is a file where|Not a directory"):
            save(folder, 1, 1, size=64)
    for read in (load_checkpoint, load_latest, list_steps):
        with pytest.raises(CheckpointError, match="is a file where"):
            read(precious)
    assert precious.read_text() == "precious"


def test_a_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    step = save(real, 1, 1, size=64)
    link.symlink_to(real)
    for use in (load_latest, lambda folder: save(folder, 2, 2, size=64)):
        with pytest.raises(CheckpointError, match="link is a symbolic link"):
            use(link)
    (real / "step-00000002").symlink_to(step)
    with pytest.raises(CheckpointError, match="step-00000002 is a symbolic link"):
        save(real, 2, 2, size=64)
    checkpoint, warnings = load_latest(real)
    assert checkpoint.step == 1 and len(warnings) == 1 and "symbolic link" in warnings[0]
    save(real, 3, 3, size=64)
    assert (real / "step-00000002").is_symlink() and step.exists()


def test_a_file_named_like_the_step_is_told_and_kept(tmp_path: Path) -> None:
    (tmp_path / "step-00000002").write_text("precious")
    with pytest.raises(CheckpointError, match="step-00000002 is a file where"):
        save(tmp_path, 2, 2, size=64)
    assert (tmp_path / "step-00000002").read_text() == "precious"
