"""Stages that work side by side: each is a generator that runs ahead of the next in a thread of its own.

Decoders, networks, numpy and encoders leave Python's lock while they work, so threads are enough, and bounded queues
between them keep memory small: a fast stage waits for a slow one.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from typing import TypeVar, cast

A = TypeVar("A")
B = TypeVar("B")
DEPTH = 4  # items that wait between two stages
_POLL = 0.1  # seconds after which a waiting stage looks whether it is still wanted
_END = object()


class Clocks:
    """Seconds that each stage was at work, its waiting for the stage before it left out."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.busy: dict[str, float] = dict.fromkeys(names, 0.0)

    def stage(self, name: str, work: Callable[[Iterator[A]], Iterator[B]], items: Iterable[A]) -> Iterator[B]:
        """`work` on `items`, timed under `name`."""
        waited = 0.0
        self.busy.setdefault(name, 0.0)

        def inputs() -> Iterator[A]:
            nonlocal waited
            source = iter(items)
            while True:
                began = time.perf_counter()
                item = next(source, _END)
                waited += time.perf_counter() - began
                if item is _END:
                    return
                yield item  # type: ignore[misc]

        results = work(inputs())
        try:
            while True:
                began, waited = time.perf_counter(), 0.0
                result = next(results, _END)
                self.busy[name] += time.perf_counter() - began - waited
                if result is _END:
                    return
                yield result  # type: ignore[misc]
        finally:
            _close(results)
            _close(items)


def ahead(items: Iterable[A], depth: int = DEPTH) -> Iterator[A]:
    """`items` in their order, made in a thread, at most `depth` of them waiting.

    An error in the thread is raised here.  Whoever stops asking stops the thread as well.
    """
    waiting: Queue[object] = Queue(depth)
    unwanted = threading.Event()
    failed: list[BaseException] = []

    def put(item: object) -> bool:
        while not unwanted.is_set():
            try:
                waiting.put(item, timeout=_POLL)
                return True
            except Full:
                continue
        return False

    def work() -> None:
        source = iter(items)
        try:
            for item in source:
                if not put(item):
                    break
        except BaseException as reason:
            failed.append(reason)
        finally:
            _close(source)  # here, in the thread that ran it
            put(_END)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not _END:
            yield cast("A", item)
        if failed:
            raise failed[0]
    finally:
        unwanted.set()
        _empty(waiting)
        thread.join()


def _close(items: object) -> None:
    """Let a generator leave its files and threads now: an error on its way up would keep it alive."""
    if (close := getattr(items, "close", None)) is not None:
        close()


def _empty(queue: Queue[object]) -> None:
    while True:
        try:
            queue.get_nowait()
        except Empty:
            return
