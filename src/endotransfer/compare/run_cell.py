"""One cell, trained in this process: from its beginning, or from where it was stopped."""

import gc
import os
import shutil
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from endotransfer.config import Experiment
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.engine.checkpoint import list_steps
from endotransfer.engine.resuming import check_same_experiment
from endotransfer.engine.run import train
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, ConfigError, EndotransferError
from endotransfer.io import open_own
from endotransfer.results import Results
from endotransfer.shortage import shortage

WIDTH = 120  # columns of a log


@dataclass(frozen=True)
class Task:
    """All that a process needs to train a cell."""

    experiment: Experiment
    run: Path
    log: Path
    begin_before: float | None = None  # time.time(); later it is left for another time


@dataclass(frozen=True)
class Outcome:
    """`results` of a finished cell, or why there are none; neither: it was asked to stop."""

    seconds: float
    results: Results | None = None
    error: str | None = None

    @property
    def stopped(self) -> bool:
        return self.results is None and self.error is None


def run_cell(task: Task, decode_cache: DecodeCache | None = None) -> Outcome:
    """Train and measure; what the run has to say goes to its log.  An error is an outcome and no exception.

    `decode_cache`: decoded images shared by the cells of this process.
    """
    if task.begin_before is not None and time.time() > task.begin_before:
        return Outcome(0.0)
    began = time.perf_counter()
    task.log.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(open_own(task.log), "a", encoding="utf-8") as log:
        console = Console(file=log, width=WIDTH)
        try:
            results = _train(task, console, decode_cache)
            if results is not None:
                _keep_what_is_looked_at(RunFolder(task.run))
        except Exception as error:  # whatever it is, the other cells are trained and recorded
            return Outcome(time.perf_counter() - began, error=_sentence(error, task, console))
        finally:
            _tidy()
    return Outcome(time.perf_counter() - began, results)


def _train(task: Task, console: Console, decode_cache: DecodeCache | None) -> Results | None:
    """Go on with what was begun, or begin; a run that cannot be gone on with is begun anew, and none fails for ever."""
    run = RunFolder(task.run)

    def trained(*, resume: bool) -> Results | None:
        # `force` replaces only what a benchmark left in its own folder and cannot be gone on with.
        return train(
            task.experiment, task.run, resume=resume, force=not resume, console=console, decode_cache=decode_cache,
            save_last=False,  # it would be removed a moment later, and takes as long to write as 100 steps
        )  # fmt: skip

    if can_go_on(run, task.experiment, console):
        saved = list_steps(run.checkpoints)
        try:
            return trained(resume=True)
        except Exception as error:
            # After a later checkpoint it was no failure of resuming: the next start goes on from there.
            if not _is_of_resuming(error) or list_steps(run.checkpoints) != saved:
                raise
            _print(console, str(error) if isinstance(error, EndotransferError) else traceback.format_exc())
        _print(console, "begun anew: it could not be gone on with")
        _tidy()
    return trained(resume=False)


def _is_of_resuming(error: Exception) -> bool:
    """Whether what ended a resumed run may be absent from one that is begun anew; full disks and memories are not."""
    if isinstance(error, EndotransferError):
        return error.of_resuming
    return not isinstance(error, OSError) and shortage(error) is None


def _sentence(error: Exception, task: Task, console: Console) -> str:
    """Why there are no results; the traceback of what nobody foresaw goes to the log alone."""
    known = error if isinstance(error, EndotransferError) else shortage(error)  # the next cell may need less
    if known is None:
        _print(console, traceback.format_exc())
        log = f"{task.log.parent.name}/{task.log.name}"
        sentence = f"an unexpected {type(error).__name__} ended it, told in {log}; the same command tries it again."
    else:
        sentence = str(known)
    _print(console, f"error: {sentence}")
    return sentence


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _keep_what_is_looked_at(run: RunFolder) -> None:
    """A finished cell is never gone on with: its checkpoints and maps would only fill the disk, a gigabyte a cell."""
    for folder in (run.checkpoints, run.maps):
        shutil.rmtree(folder, ignore_errors=True)


def can_go_on(run: RunFolder, experiment: Experiment, console: Console) -> bool:
    """Whether a run was begun there that is this one; one begun from other folders (moved data) is not."""
    if not run.config.exists():
        return False
    try:
        check_same_experiment(run, experiment)
    except (ConfigError, CheckpointError) as reason:
        _print(console, f"begun anew: {reason}")
        return False
    return True


def _tidy() -> None:
    """The next cell in this process begins with an empty GPU, and its account of memory at zero."""
    if torch.cuda.is_available():  # pragma: needs cuda
        gc.collect()  # a network that refers to itself would hold its memory
        with suppress(RuntimeError):  # a GPU that an error has left unusable says so here again
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
