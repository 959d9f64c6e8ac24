"""A machine that has not enough of something, a signal at an awkward moment, a process that stands still."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from endotransfer.cli import main as command_line
from endotransfer.data.pipeline.loader_processes import close_loader, make_loader, results
from endotransfer.errors import DataError
from endotransfer.shortage import shortage

SHORT = 6


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "memory"),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"), "memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "memory"),
        (OSError(errno.EMFILE, "Too many open files"), "open files"),
        (RuntimeError("unable to open shared memory object </torch_1> in read-write mode: Too many open files"),
         "open files"),
        (RuntimeError("can't start new thread"), "processes"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "processes"),
    ],
)  # fmt: skip
def test_a_shortage_is_one_line_with_its_code(
    error: Exception, words: str, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(command_line, "app", fail)
    code, output = command("train")
    assert code == SHORT and output.startswith("error: ") and words in output and output.count("\n") == 1


def test_other_errors_are_no_shortage() -> None:
    assert shortage(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None
    assert shortage(OSError(errno.ENOSPC, "No space left on device")) is None
    assert shortage(ValueError("out of memory")) is None


def limited(limit: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    quoted = " ".join(f"'{argument}'" for argument in arguments)
    line = f"ulimit {limit}; exec {sys.executable} -m endotransfer {quoted}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("limit", ["-n 12", "-v 2200000"])
def test_limits_of_the_system_are_told_in_one_line(limit: str, experiment: Path, tmp_path: Path) -> None:
    found = limited(limit, "train", experiment, "--out", tmp_path / "run", "--set", "training.workers=4")
    assert "Traceback" not in found.stderr, found.stderr[-1500:]
    if found.returncode:  # a machine may do with less than ours
        assert found.returncode == SHORT and "has not enough" in found.stderr, (found.returncode, found.stderr[-500:])


def test_sigterm_anywhere_ends_with_a_sentence_and_its_code(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def terminated() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(command_line, "app", terminated)
    code, output = command("evaluate")
    assert code == 143 and output.startswith("terminated;")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("number", "code", "words"), [(signal.SIGTERM, 143, "terminated;"), (signal.SIGINT, 130, "interr")]
)
def test_a_signal_that_an_import_swallows_is_no_traceback(
    number: int, code: int, words: str, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an extension module, imported again, says that its types are registered already."""

    def half_imported() -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except BaseException:
            raise ImportError("generic_type: type is already registered!") from None

    before = signal.getsignal(number)
    monkeypatch.setattr(command_line, "app", half_imported)
    found, output = command("evaluate")
    assert found == code and output.startswith(words) and output.count("\n") == 1
    assert signal.getsignal(number) is before


class Numbers(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index


def test_a_loader_process_that_is_stopped_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDOTRANSFER_PATIENCE", "2")
    loader: Any = make_loader(Numbers(), range(50), workers=1)
    items = results(loader)
    assert next(items) == 0
    (worker,) = loader._iterator._workers
    os.kill(worker.pid, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(DataError, match=rf"process {worker.pid}, which loads images, is stopped"):
        list(items)
    close_loader(loader)
    assert time.monotonic() - began < 20
    assert not worker.is_alive()
