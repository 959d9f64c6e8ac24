"""Processes side by side: outcomes come back, a stop is passed on, a killed process is named."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from endotransfer.compare import pool
from endotransfer.compare.run_cell import Outcome, Task
from endotransfer.config import Experiment
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.errors import DataError
from endotransfer.results import Results

FOUND = Results(method="source_only", figures={"miou": 1.0})


@pytest.fixture
def stopping() -> Iterator[threading.Event]:
    """The flag as a process of the pool holds it."""
    event = threading.Event()
    pool._workers[:] = [pool.WorkerState(event, DecodeCache())]
    yield event
    pool._workers.clear()


@pytest.fixture
def task(make_experiment: Any, tmp_path: Path) -> Task:
    experiment = make_experiment("tagged", "source_only", data=tmp_path / "nowhere")
    return Task(experiment, tmp_path / "run", tmp_path / "log")


def test_an_outcome_comes_back_from_another_process(task: Task) -> None:
    ((index, outcome),) = pool.run_side_by_side([task], jobs=1, threads=1)
    assert index == 0 and outcome.error is not None and "nowhere" in outcome.error


def test_a_cell_that_breaks_unforeseen_ends_no_other(task: Task, tmp_path: Path) -> None:
    broken = replace(task, experiment=cast(Experiment, None), log=tmp_path / "broken.log")
    outcomes = dict(pool.run_side_by_side([broken, task], jobs=1, threads=1))
    assert outcomes[0].error is not None and "an unexpected AttributeError" in outcomes[0].error
    assert outcomes[1].error is not None and "nowhere" in outcomes[1].error


def test_nothing_more_is_trained_once_nobody_takes_the_outcomes(task: Task, tmp_path: Path) -> None:
    tasks = [replace(task, log=tmp_path / f"{index}.log") for index in range(200)]
    outcomes = pool.run_side_by_side(tasks, jobs=1, threads=1)
    next(outcomes)
    outcomes.close()
    assert not tasks[-1].log.exists()


def test_a_stopped_process_takes_no_further_cell(
    stopping: threading.Event, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "run_cell", lambda task, cache: Outcome(1.0, FOUND))
    assert pool._train(task).results == FOUND
    stopping.set()
    assert pool._train(task).stopped


def test_a_signal_between_training_steps_leaves_the_cell_for_later(
    stopping: threading.Event, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool._leave(signal.SIGTERM, None)  # idle: nothing to leave
    monkeypatch.setattr(pool, "run_cell", lambda task, cache: pool._leave(signal.SIGTERM, None))
    assert pool._train(task).stopped
    assert not pool._workers[0].busy


def test_a_killed_process_is_one_sentence_unless_it_was_asked_to_go() -> None:
    broken: Future[Outcome] = Future()
    broken.set_exception(BrokenProcessPool())
    event = threading.Event()
    with pytest.raises(DataError, match="fewer --jobs"):
        pool._outcome_of(broken, event)
    event.set()
    assert pool._outcome_of(broken, event).stopped


def test_the_second_signal_means_now() -> None:
    event, waiting = threading.Event(), Future[Outcome]()
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), pool._stop_on_signals(event, [waiting]):
        signal.raise_signal(signal.SIGTERM)
        assert event.is_set() and waiting.cancelled()
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
