"""Small jobs in threads: decoding images and waiting for a GPU both release the interpreter's lock."""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_threads(job: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """`[job(item) for item in items]`, a few at a time."""
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(job, items))


def one_ahead(job: Callable[[A], B], items: Sequence[A]) -> Generator[B, None, None]:
    """`map(job, items)`, each result computed while the one before it is in use, and never more than one ahead."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting = None
        for item in items:
            ready, waiting = waiting, pool.submit(job, item)
            if ready is not None:
                yield ready.result()
        if waiting is not None:
            yield waiting.result()
