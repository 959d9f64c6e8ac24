"""Small jobs in threads: decoding leaves the interpreter's lock, and so does who waits for a GPU."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_threads(job: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """`[job(item) for item in items]`, a few at a time."""
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(job, items))


def one_ahead(job: Callable[[A], B], items: Sequence[A]) -> Iterator[B]:
    """`map(job, items)`, each result made while the one before it is in use: at most one more than was asked for."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting = None
        for item in items:
            ready, waiting = waiting, pool.submit(job, item)
            if ready is not None:
                yield ready.result()
        if waiting is not None:
            yield waiting.result()
