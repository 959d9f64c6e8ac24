"""Cells side by side: a few processes, each training one cell after the other, that stop and die with their parent."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from types import FrameType
from typing import Protocol

from endotransfer.compare.run_cell import Outcome, Task, run_cell
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.errors import DataError


class StopFlag(Protocol):
    """An event of `threading` or of `multiprocessing`."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...


@dataclass
class WorkerState:
    """Of a process of the pool."""

    stopping: StopFlag
    decode_cache: DecodeCache
    busy: bool = False


_workers: list[WorkerState] = []  # one, in a process of the pool


def run_side_by_side(tasks: Sequence[Task], jobs: int, threads: int) -> Generator[tuple[int, Outcome], None, None]:
    """(index, outcome) of each task, in the order in which they end.  After a signal the rest have stopped.

    So they have where nobody waits for them any more: what they found would be known to no one.
    """
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads and CUDA is not safe
    stopping = context.Event()
    with ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(threads, stopping)) as pool:
        futures = {pool.submit(_train, task): index for index, task in enumerate(tasks)}
        with _stop_on_signals(stopping, list(futures)):
            try:
                for future in as_completed(futures):
                    if not future.cancelled():
                        yield futures[future], _outcome_of(future, stopping)
            except BaseException:
                if not stopping.is_set():
                    _stop(stopping, list(futures))
                raise


def _outcome_of(future: "Future[Outcome]", stopping: StopFlag) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        if stopping.is_set():
            return Outcome(0.0)
        fix = "start the same command again, with fewer --jobs"
        raise DataError(f"a process that trained a cell was killed, mostly for want of memory; {fix}.") from None


@contextmanager
def _stop_on_signals(stopping: StopFlag, futures: "list[Future[Outcome]]") -> Iterator[None]:
    """The first signal lets every process save and leave; the second means now."""

    def ask(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        _stop(stopping, futures)

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(stopping: StopFlag, futures: "list[Future[Outcome]]") -> None:
    """Let no process begin another cell, and those that train save and leave."""
    stopping.set()
    for future in futures:
        future.cancel()
    for child in multiprocessing.active_children():
        child.terminate()


# -- in a process of the pool ---------------------------------------------------------------------------------------


def _begin(threads: int, stopping: StopFlag) -> None:
    import torch

    torch.set_num_threads(threads)
    _workers[:] = [WorkerState(stopping, DecodeCache())]
    os.setsid()  # Ctrl-C reaches the parent alone, which passes it on once
    signal.signal(signal.SIGTERM, _leave)  # while a cell trains, training has its own way of leaving
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _train(task: Task) -> Outcome:
    (worker,) = _workers
    if worker.stopping.is_set():
        return Outcome(0.0)
    worker.busy = True
    try:
        return run_cell(task, worker.decode_cache)
    except KeyboardInterrupt:
        return Outcome(0.0)
    finally:
        worker.busy = False


def _leave(number: int, frame: FrameType | None) -> None:
    if any(worker.busy for worker in _workers):
        raise KeyboardInterrupt


def _die_with_parent() -> None:
    """A killed benchmark leaves nobody behind who would write into its folder while its successor does."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
