"""Threads that count what a network predicted while it is busy with the next images."""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from endotransfer.engine.inferred_group import CountedGroup, InferredGroup
from endotransfer.engine.measurements import Measurements


class Begun(NamedTuple):
    group: InferredGroup
    counted: Future[CountedGroup]
    scored: list[Future[None]]  # one for each image


class Counters:
    """One batch is in the threads' hands while the next is inferred; never more, since its maps take memory."""

    def __init__(self, threads: ThreadPoolExecutor, measured: Measurements) -> None:
        self.threads, self.measured = threads, measured
        self.waiting: list[Begun] = []

    def take(self, groups: Iterable[InferredGroup]) -> None:
        before, self.waiting = self.waiting, [self._begin(group) for group in groups]
        self._end(before)

    def finish(self) -> None:
        self._end(self.waiting)

    def _begin(self, group: InferredGroup) -> Begun:
        counted = self.threads.submit(group.count, len(self.measured.scores.classes))
        # Behind it in the queue: none of them can wait for it and keep it from its thread.
        scored = [self.threads.submit(self.measured.score, group, counted, one) for one in range(len(group.images))]
        return Begun(group, counted, scored)

    def _end(self, begun: Iterable[Begun]) -> None:
        for one in begun:
            for scored in one.scored:
                scored.result()
            self.measured.add(one.group, one.counted.result())
