"""Stages side by side: order, bounded memory, errors, stopping early, and honest clocks."""

import threading
import time
from collections.abc import Generator, Iterator
from typing import cast

import pytest

from endotransfer.predict.pipeline import Clocks, ahead


def test_order_is_kept() -> None:
    assert list(ahead(ahead(range(100), depth=2), depth=3)) == list(range(100))


def test_an_error_comes_out_after_the_items_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("here")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(KeyError, match="here"):
        next(items)


def test_a_stage_runs_no_further_ahead_than_it_may() -> None:
    made: list[int] = []

    def source() -> Iterator[int]:
        for index in range(50):
            made.append(index)
            yield index

    items = ahead(source(), depth=3)
    next(items)
    time.sleep(0.2)
    assert len(made) <= 6
    cast("Generator[int, None, None]", items).close()


def test_whoever_stops_asking_stops_all_threads_and_closes_their_files() -> None:
    closed = threading.Event()

    def source() -> Iterator[int]:
        try:
            yield from range(10**9)
        finally:
            closed.set()

    before = threading.active_count()
    clocks = Clocks()
    items = ahead(clocks.stage("pass", lambda values: (value for value in values), ahead(source())))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    cast("Generator[int, None, None]", items).close()
    assert closed.wait(5) and threading.active_count() == before


def test_a_clock_counts_work_and_not_waiting() -> None:
    clocks = Clocks()

    def slow(_: Iterator[int]) -> Iterator[int]:
        for index in range(5):
            time.sleep(0.02)
            yield index

    def quick(items: Iterator[int]) -> Iterator[int]:
        yield from items

    began = time.perf_counter()
    assert list(clocks.stage("quick", quick, ahead(clocks.stage("slow", slow, ())))) == list(range(5))
    whole = time.perf_counter() - began
    assert 0.1 <= clocks.busy["slow"] <= whole
    assert clocks.busy["quick"] < 0.05


def test_stages_work_at_the_same_time() -> None:
    """Three stages of 20 ms an item take the time of one."""
    clocks = Clocks()

    def stage(items: Iterator[int]) -> Iterator[int]:
        for item in items:
            time.sleep(0.02)
            yield item

    began = time.perf_counter()
    first = ahead(clocks.stage("1", stage, range(20)))
    assert len(list(clocks.stage("3", stage, ahead(clocks.stage("2", stage, first))))) == 20
    assert time.perf_counter() - began < 0.8  # one after the other: 1.2
