"""Loader processes: their faults in one sentence, their end when it is time."""

import os
import signal
import time
from typing import Any

import pytest
import torch

from endotransfer.data.pipeline.batch_source import BatchSource
from endotransfer.data.pipeline.loader_processes import _close_all, make_loader, results
from endotransfer.errors import DataError
from tests.data.pipeline.disk import Disk, MakeBatches


@pytest.mark.parametrize("workers", [0, 2])
def test_a_fault_met_by_a_worker_is_one_sentence(make_batches: MakeBatches, disk: Disk, workers: int) -> None:
    batch_source = make_batches(cache=False, workers=workers)
    disk.target[2].image.write_bytes(b"")
    with pytest.raises(DataError) as caught:
        list(batch_source.batches(0, 4))
    assert str(caught.value).startswith(str(disk.target[2].image))
    assert "\n" not in str(caught.value)
    assert len(list(batch_source.batches(0, 2, use_target=False))) == 2  # and later batches are made


def running(batch_source: BatchSource) -> Any:
    """The private iterator of its loader."""
    return batch_source._loader._iterator


def worker_pids(batch_source: BatchSource) -> list[int]:
    return [process.pid for process in running(batch_source)._workers]


def test_a_worker_outlives_sigterm_and_leaves_when_told(make_batches: MakeBatches) -> None:
    batch_source = make_batches(workers=1)
    batches = batch_source.batches(0, 30)
    next(batches)
    [pid] = worker_pids(batch_source)
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGINT)
    time.sleep(0.2)
    assert len(list(batches)) == 29
    batch_source.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert len(list(batch_source.batches(0, 3))) == 3


def test_no_worker_is_left_when_the_program_ends(make_batches: MakeBatches) -> None:
    batch_source = make_batches(workers=2)
    batches = batch_source.batches(0, 30)
    next(batches)
    pids = worker_pids(batch_source)
    _close_all()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_killed_worker_is_said_plainly(make_batches: MakeBatches) -> None:
    batch_source = make_batches(workers=1)
    batches = batch_source.batches(0, 5000)
    next(batches)
    # torch's own handler would raise wherever the program happens to be, in the test runner too; without it the loader
    # sees the death by itself, a few seconds later.
    handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        os.kill(worker_pids(batch_source)[0], signal.SIGKILL)
        with pytest.raises(DataError, match="was killed"):
            list(batches)
    finally:
        signal.signal(signal.SIGCHLD, handler)


@pytest.mark.parametrize("reason", [EOFError(), ConnectionResetError()], ids=["end of file", "reset"])
@pytest.mark.parametrize("dies", [True, False], ids=["dead", "alive"])
def test_a_broken_line_to_a_worker_is_its_death_only_where_it_died(
    make_batches: MakeBatches, monkeypatch: pytest.MonkeyPatch, reason: Exception, dies: bool
) -> None:
    batch_source = make_batches(workers=1)
    batches = batch_source.batches(0, 5000)
    next(batches)

    def fails(*args: object, **kwargs: object) -> None:
        raise reason

    monkeypatch.setattr(running(batch_source)._data_queue, "get", fails)
    handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if dies:
            os.kill(worker_pids(batch_source)[0], signal.SIGKILL)
        with pytest.raises(DataError if dies else type(reason), match="was killed" if dies else None):
            next(batches)
    finally:
        signal.signal(signal.SIGCHLD, handler)


def test_a_programmer_s_error_stays_what_it_is() -> None:
    class Broken(torch.utils.data.Dataset[int]):
        def __getitem__(self, index: int) -> int:
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        list(results(make_loader(Broken(), [0], 0)))
