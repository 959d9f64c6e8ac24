"""Training in two processes of which one is stopped: noticed, named, ended with a code; and Ctrl-C is heard."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from endotransfer.engine import stall_watch
from endotransfer.engine.stall_watch import watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
SLOWEST = 180  # seconds, on a busy machine


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[tuple[str, int]], socket.socket]]:
    """What the watch of this process wants to leave with, and the line on which it hears signals."""
    monkeypatch.setattr(stall_watch, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(stall_watch, "GRACE", 0.5)
    monkeypatch.setenv("ENDOTRANSFER_PATIENCE", "1")
    leaving: list[tuple[str, int]] = []
    ear, mouth = socket.socketpair()
    thread = threading.Thread(target=watch, args=(ear, lambda *words: leaving.append(words)))
    thread.start()
    yield leaving, mouth
    mouth.close()
    thread.join(20)
    ear.close()


def wait_until_it_leaves(leaving: list[tuple[str, int]]) -> tuple[str, int]:
    until = time.monotonic() + 20
    while not leaving and time.monotonic() < until:
        time.sleep(0.05)
    return leaving[0]


def test_a_stopped_process_is_named(
    said: tuple[list[tuple[str, int]], socket.socket], sleeper: "subprocess.Popen[bytes]"
) -> None:
    time.sleep(1.5)
    assert said[0] == []  # one that waits is at work
    os.kill(sleeper.pid, signal.SIGSTOP)
    sentence, code = wait_until_it_leaves(said[0])
    assert code == 3 and sentence.startswith(f"error: process {sleeper.pid} of this run has been stopped for 1 s; ")


def test_a_second_signal_that_nobody_obeys_ends_it(said: tuple[list[tuple[str, int]], socket.socket]) -> None:
    leaving, mouth = said
    mouth.send(bytes([signal.SIGINT, signal.SIGCHLD]))
    time.sleep(1)
    assert leaving == []  # the first lets training save
    mouth.send(bytes([signal.SIGTERM]))
    assert wait_until_it_leaves(leaving) == ("interrupted; go on with --resume.", 130)


@pytest.fixture
def pair(experiment: Path, tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    """A run of two processes that has taken its first steps."""
    settings = ["training.devices=2", "training.epochs=100000", "training.workers=0", "training.log_every=1"]
    command = [sys.executable, "-m", "endotransfer", "train", experiment, "--out", tmp_path / "run"]
    command += [word for setting in settings for word in ("--set", setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)  # type: ignore[arg-type]
    until, log = time.monotonic() + SLOWEST, tmp_path / "run" / "metrics.csv"
    while process.poll() is None and not (log.exists() and log.read_text().count("\n") > 3):
        assert time.monotonic() < until, "it does not train"
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()[1]
    yield process
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def other_process(process: "subprocess.Popen[str]") -> int:
    (pid,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(pid)


def test_two_signals_end_a_run_that_waits_for_a_stopped_process(pair: "subprocess.Popen[str]") -> None:
    stopped = other_process(pair)
    os.kill(stopped, signal.SIGSTOP)
    time.sleep(1)
    pair.send_signal(signal.SIGINT)
    time.sleep(0.5)
    pair.send_signal(signal.SIGINT)
    error = pair.communicate(timeout=SLOWEST)[1]
    assert pair.returncode == 130 and "interrupted" in error and "Traceback" not in error, error
    stat = Path(f"/proc/{stopped}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"  # ended, whoever buries it
