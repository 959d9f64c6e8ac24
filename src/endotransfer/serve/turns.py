"""A bounded queue for heavy work: a few at a time, some waiting, and a plain refusal for the rest."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from endotransfer.serve.answers import Refusal

PARALLEL = 2
WAITING = 16
T = TypeVar("T")


class Turns:
    """Runs functions in threads.  The event loop stays free, so that `/health` answers whatever goes on."""

    def __init__(self, parallel: int = PARALLEL, waiting: int = WAITING) -> None:
        self._most = parallel + waiting
        self._places = asyncio.Semaphore(parallel)
        self.taken = 0  # at work or waiting

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, once it had its turn."""
        async with self.place():
            return await run_in_threadpool(work)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """One of the places, once it is free."""
        if self.taken >= self._most:
            raise Refusal(429, "busy", "too much is asked for at once; try again in a moment.")
        self.taken += 1
        try:
            async with self._places:
                yield
        finally:
            self.taken -= 1
