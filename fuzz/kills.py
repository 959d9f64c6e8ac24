"""Training, benchmarks and the viewer killed at any moment: they go on as if nothing had happened, or start anew."""

import json
import os
import random
import shutil
import signal
import socket
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import yaml

from endotransfer.compare.runner import run_benchmark
from endotransfer.compare.suite import read_suite
from endotransfer.config import Experiment
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.run import train
from endotransfer.errors import EndotransferError
from endotransfer.serve.start import serve
from endotransfer.testing.tiny_tasks import tiny_experiment, write_backbone, write_tasks
from fuzz.damaged_files import same_tensors
from fuzz.outcome import FuzzOutcome
from tests.served import answers

SLOWEST = 120  # seconds that a whole tiny run may take on a busy machine
AGAIN = {"name": "source_only", "label": "again", "training": {"lr": 2e-3}}  # the second cell of the benchmark
SIGNALS = [signal.SIGKILL] * 5 + [signal.SIGTERM]


class Forked:
    """A function in a process of its own, forked: torch is imported once for all of them."""

    def __init__(self, action: Callable[[], object], log: Path) -> None:
        self.log, self.began = log, time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _become(action, log)

    def end(self, seconds: float, number: int | None) -> int | None:
        """Wait so long, then send `number` (None: let it end); its exit status, None if it had to be killed."""
        limit = self.began + (SLOWEST if number is None else seconds)
        while time.monotonic() < limit:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(self.pid, signal.SIGKILL if number is None else number)
        return os.waitstatus_to_exitcode(self._reaped())

    def _reaped(self) -> int:
        limit = time.monotonic() + SLOWEST
        while time.monotonic() < limit:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.005)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return -1


def _become(action: Callable[[], object], log: Path) -> None:
    """The child: all it says goes to `log`."""
    code = 1
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        torch.set_num_threads(1)
        action()
        code = 0
    except EndotransferError as error:
        log.write_text(f"refused: {error}")
    except BaseException:
        log.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def kill_training(folder: Path, experiment: Experiment, count: int, draw: random.Random) -> FuzzOutcome:
    """One run killed again and again; each time it ends by itself it equals one that was never killed."""
    outcome, straight, run = FuzzOutcome("killed training"), folder / "straight", folder / "killed"
    began = time.monotonic()
    if Forked(lambda: train(experiment, straight), folder / "log").end(0, None) != 0:
        outcome.problems.append(f"training fails: {(folder / 'log').read_text()[-300:]}")
        return outcome
    usual = time.monotonic() - began
    expected = load_latest(straight / "checkpoints")[0].tensors["weights"]
    for number in range(count):
        resume = run.is_dir() and any(run.iterdir())
        child = Forked(lambda resume=resume: train(experiment, run, resume=resume), folder / "log")  # type: ignore[misc]
        code = child.end(draw.uniform(0, usual), draw.choice(SIGNALS))
        outcome.tried += 1
        outcome.unharmed += 1
        _look(outcome, f"kill {number}", code, folder / "log")
        _look_at_run(outcome, f"kill {number}", run, expected if code == 0 else None)
        if (run / "results.json").exists():
            shutil.rmtree(run)
    outcome.seconds = time.monotonic() - began
    return outcome


def _look(outcome: FuzzOutcome, name: str, code: int | None, log: Path) -> None:
    said = log.read_text(errors="replace") if log.exists() else ""
    if "Traceback" in said or said.startswith("refused") or code == -1:
        outcome.problems.append(f"{name} (code {code}): {' '.join(said[-200:].split())}")


def _look_at_run(outcome: FuzzOutcome, name: str, run: Path, expected: dict[str, torch.Tensor] | None) -> None:
    if not list_steps(run / "checkpoints"):
        return
    try:
        checkpoint, warnings = load_latest(run / "checkpoints")
    except EndotransferError as error:
        outcome.problems.append(f"{name}: {error}")
        return
    finished = (run / "results.json").exists()
    if warnings or (expected and finished and not same_tensors(checkpoint.tensors["weights"], expected)):
        outcome.problems.append(f"{name}: {warnings or 'other weights than of a run that was never killed'}")


def kill_benchmark(folder: Path, experiment: Experiment, count: int, draw: random.Random) -> FuzzOutcome:
    """A benchmark of two cells, killed until it is done, and again."""
    outcome, out, suite = FuzzOutcome("killed benchmarks"), folder / "out", folder / "suite.yaml"
    raw = {**experiment.model_dump(mode="json"), "systems": ["source_only", AGAIN]}
    suite.write_text(yaml.safe_dump(raw))
    began = time.monotonic()

    def bench(where: Path) -> None:
        run_benchmark(read_suite(suite), where)

    if Forked(lambda: bench(folder / "once"), folder / "log").end(0, None) != 0:
        outcome.problems.append(f"the benchmark fails: {(folder / 'log').read_text()[-300:]}")
        return outcome
    usual, expected = time.monotonic() - began, _figures(folder / "once")
    for number in range(count):
        code = Forked(lambda: bench(out), folder / "log").end(draw.uniform(0, usual), signal.SIGKILL)
        outcome.tried += 1
        outcome.unharmed += 1
        _look(outcome, f"kill {number}", code, folder / "log")
        if code == 0:
            if _figures(out) != expected:
                outcome.problems.append(f"kill {number}: other figures than of a benchmark that was never killed")
            shutil.rmtree(out)
    outcome.seconds = time.monotonic() - began
    return outcome


def _figures(out: Path) -> list[object]:
    cells = json.loads((out / "results.json").read_text())["cells"]
    return [(cell["label"], cell.get("error"), cell.get("iou")) for cell in cells]


def kill_viewer(folder: Path, run: Path, images: Path, count: int, draw: random.Random) -> FuzzOutcome:
    """The viewer killed while it starts or serves; the next one starts all the same."""
    outcome, began = FuzzOutcome("killed viewers"), time.monotonic()
    for number in range(count):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        child = Forked(lambda port=port: serve([run], images, port=port, browser=False), folder / "log")  # type: ignore[misc]
        kept = number % 5 == 4  # every fifth is waited for
        limit = time.monotonic() + (SLOWEST if kept else draw.uniform(0, 2))
        while not (up := answers(port)) and time.monotonic() < limit:
            time.sleep(0.05)
        code = child.end(0, signal.SIGKILL)
        outcome.tried += 1
        outcome.unharmed += up
        if (kept and not up) or (code != -signal.SIGKILL):
            _look(outcome, f"viewer {number}", -1, folder / "log")
    outcome.seconds = time.monotonic() - began
    return outcome


def fuzz_kills(folder: Path, share: float, draw: random.Random) -> list[FuzzOutcome]:
    """At `share` 1: two hundred kills."""
    for part in ("training", "benchmark", "viewer"):
        (folder / part).mkdir(parents=True)
    tasks, backbone = write_tasks(folder / "tasks"), write_backbone(folder / "backbone.safetensors")
    passing = tiny_experiment(
        "tagged", tasks["tagged"], backbone, "semantic_transfer", "paper", epochs=2, checkpoint_every=1
    )
    plain = tiny_experiment("tagged", tasks["tagged"], backbone, "source_only", epochs=1, checkpoint_every=1)
    outcomes = [
        kill_training(folder / "training", passing, max(1, round(120 * share)), draw),
        kill_benchmark(folder / "benchmark", plain, max(1, round(50 * share)), draw),
    ]
    straight, images = folder / "training" / "straight", tasks["tagged"] / "capsule"
    outcomes.append(kill_viewer(folder / "viewer", straight, images, max(1, round(30 * share)), draw))
    return outcomes
