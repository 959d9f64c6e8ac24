"""How far a prediction is: pictures a second and the time left, on a bar, or as a line now and then in a log."""

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import TypeVar

from rich.console import Console

from endotransfer.engine.progress_bar import progress_bar

T = TypeVar("T")
EVERY = 30.0  # seconds between two lines of a log


class Meter:
    """Use it as a context, and let what it counts run through `watch`."""

    def __init__(self, console: Console, what: str, total: int | None) -> None:
        self._console, self._what, self._total = console, what, total
        self._bar = progress_bar(console, shown=True)
        self.done, self._began = 0, time.perf_counter()
        self._said = self._began

    def __enter__(self) -> "Meter":
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=self._total, note="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    @property
    def rate(self) -> float:
        """Pictures a second since the start."""
        return self.done / max(time.perf_counter() - self._began, 1e-9)

    def watch(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            self.done += 1
            self._bar.update(self._task, completed=self.done, note=f"{self.rate:.1f} a second")
            self._say()
            yield item

    def _say(self) -> None:
        now = time.perf_counter()
        if self._console.is_terminal or now - self._said < EVERY:
            return
        self._said = now
        left = (
            "" if self._total is None else f", {timedelta(seconds=round((self._total - self.done) / self.rate))} left"
        )
        total = "" if self._total is None else f" of {self._total}"
        line = f"{self._what}: {self.done}{total}, {self.rate:.1f} a second{left}"
        self._console.print(line, markup=False, soft_wrap=True)
