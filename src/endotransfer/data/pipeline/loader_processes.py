"""Loader processes that report user errors as such, leave training's random state alone and survive SIGTERM."""

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import TypeVar
from weakref import WeakSet

import torch
from torch.utils.data import DataLoader, Dataset

from endotransfer.errors import DataError, EndotransferError
from endotransfer.patience import FOR_LOADERS, FOR_STOPPED, patience, stopped_children

GRACE = 60  # seconds that a loader process goes on serving after SIGTERM, while training saves and leaves

LOOK_EVERY = 5  # seconds after which a loader that waits looks whether its processes live

T = TypeVar("T")
_open_loaders: "WeakSet[DataLoader[object]]" = WeakSet()


@dataclass(frozen=True)
class Failure:
    """A user's error raised in a loader process, which would otherwise wrap it in a traceback."""

    kind: type[EndotransferError]
    text: str


def caught(make: Callable[[], T]) -> "T | Failure":
    """The result of `make`, or the user's error that it raised; for use inside a loader process."""
    try:
        return make()
    except EndotransferError as error:
        return Failure(type(error), str(error))


def results(loader: "DataLoader[T | Failure]") -> Iterator[T]:
    """The items of `loader`; a Failure among them is raised as the error it was."""
    try:
        for item in _patiently(loader):
            if isinstance(item, Failure):
                raise item.kind(item.text)
            yield item
    except (RuntimeError, OSError, EOFError) as reason:  # the last two: it died while it was handing a batch over
        if not _lost_a_process(loader):
            raise
        fix = "free some memory, or set training.workers=0"
        raise DataError(f"a process that loads images was killed, mostly for want of memory; {fix}.") from reason


def _patiently(loader: DataLoader[T]) -> Iterator[T]:
    """The items of `loader`.  It looks for dead processes whenever it has waited a few seconds; asked again, it goes on
    waiting, until patience ends."""
    iterator, waited = iter(loader), 0.0
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        except RuntimeError as reason:
            waited += loader.timeout
            if not loader.timeout or "timed out after" not in str(reason):
                raise
            if waited >= patience(FOR_STOPPED if stopped_children() else FOR_LOADERS):
                raise _no_answer(waited) from reason
            continue
        waited = 0.0
        yield item


def _no_answer(waited: float) -> DataError:
    stopped = ", ".join(map(str, stopped_children()))
    which = f"process {stopped}, which loads images, is stopped" if stopped else "the processes that load images hang"
    fix = "continue or end it, then start again with --resume, or set training.workers=0"
    return DataError(f"{which}: no image for {waited:.0f} s; {fix}.")


def _lost_a_process(loader: DataLoader[T]) -> bool:
    """Whether a process of `loader` has died; one that is about to gets a moment."""
    for process in getattr(loader._iterator, "_workers", ()):
        process.join(0.5)
        if not process.is_alive():
            return True
    return False


def make_loader(dataset: Dataset[T], plan: Iterable[object], workers: int) -> DataLoader[T]:
    """`dataset[entry]` for every entry of `plan`, in order, made by `workers` processes (0: in this one).

    The processes stay for the next iteration, for which `plan` may have changed, until `close_loader`.
    """
    forked = workers > 0 and sys.platform == "linux"  # elsewhere forking is not safe
    loader: DataLoader[T] = DataLoader(
        dataset,
        sampler=plan,
        batch_size=None,  # an entry is a whole batch already
        collate_fn=_as_it_is,
        num_workers=workers,
        persistent_workers=workers > 0,
        multiprocessing_context="fork" if forked else None,
        worker_init_fn=_serve_through_signals,
        timeout=min(LOOK_EVERY, patience(FOR_LOADERS)) if workers else 0,
        pin_memory=torch.cuda.is_available(),
        generator=torch.Generator(),  # or iterators would draw seeds from training's random numbers
    )
    _open_loaders.add(loader)
    return loader


def close_loader(loader: DataLoader[T]) -> None:
    """End the processes of `loader`; iterating over it again starts new ones."""
    # No public call does this while something still refers to the iterator.
    iterator, loader._iterator = loader._iterator, None
    if iterator is not None:
        _kill_stopped(iterator)
        iterator._shutdown_workers()  # type: ignore[attr-defined]


def _kill_stopped(iterator: object) -> None:
    """A stopped process hears no other signal; to wait for its end would take for ever."""
    pids = stopped_children()
    workers: list[BaseProcess] = [one for one in getattr(iterator, "_workers", ()) if one.pid in pids]
    if workers and getattr(iterator, "_worker_pids_set", False):
        torch._C._remove_worker_pids(id(iterator))  # or torch would raise because one of them was killed
        iterator._worker_pids_set = False  # type: ignore[attr-defined]
    for worker in workers:
        worker.kill()


@atexit.register  # the standard library would send SIGTERM and wait until the loader processes obey
def _close_all() -> None:
    for loader in list(_open_loaders):
        close_loader(loader)


def _as_it_is(item: T) -> T:
    return item


def _serve_through_signals(worker: int) -> None:
    """In a loader process: Ctrl-C and a scheduler's SIGTERM reach every process of a run, but only training decides.

    A loader process that died of them would raise an error in the middle of the checkpoint that training then saves.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
    signal.signal(signal.SIGTERM, lambda number, frame: _leave_later())


def _leave_later() -> None:
    signal.alarm(GRACE)
