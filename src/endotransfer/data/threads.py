"""The same small job on many files: decoding leaves the interpreter's lock, so threads are enough."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_threads(job: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """`[job(item) for item in items]`, a few at a time."""
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(job, items))
