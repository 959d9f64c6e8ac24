"""Small jobs in threads: decoding images and waiting for a GPU both release the interpreter's lock."""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


Progress = Callable[[int, int], None]  # (done, of how many)


def in_threads(job: Callable[[A], B], items: Sequence[A], progress: Progress | None = None) -> list[B]:
    """`[job(item) for item in items]`, a few at a time; `progress(done, total)` is called after each."""
    results = []
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        for result in pool.map(job, items):
            results.append(result)
            if progress is not None:
                progress(len(results), len(items))
    return results


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
