"""Runs trained by a pair of processes (gloo), for comparison with those of one."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from endotransfer.config import Experiment, RawConfig, as_yaml
from endotransfer.testing.cases import Case
from endotransfer.testing.repeated_run import final_weights

TOLERANCE = 1e-6
SECONDS = 1500  # that all runs together may take
SETTINGS: RawConfig = {  # those under which equality is possible
    "optimiser": "sgd", "lr": 1e-3, "precision": "64", "epochs": 4, "steps_per_epoch": 3,
    "checkpoint_every": 8,  # in mid-epoch, for a run to be taken up from
}  # fmt: skip


def without_dropout(experiment: Experiment) -> Experiment:
    """Two processes draw other noise than one."""
    return experiment.model_copy(update={"model": experiment.model.model_copy(update={"dropout": 0.0})})


def furthest_apart(one: Path, other: Path) -> tuple[float, str]:
    """The largest difference between two runs' weights, and whose it is."""
    first, second = final_weights(one), final_weights(other)
    assert first.keys() == second.keys()
    distances = {name: (value.double() - second[name].double()).abs().max().item() for name, value in first.items()}
    name = max(distances, key=distances.__getitem__)
    return distances[name], name


def train_in_two_processes(experiments: Iterable[tuple[Case, Experiment]], folder: Path) -> Path:
    """Train them all to `folder / CASE`, with one start of the processes: it costs more than training.

    Tests that run side by side share a folder: the first to come trains, the others wait.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        _wait_for(folder / "ended")
    else:
        try:
            for case, experiment in experiments:
                (folder / f"{case}.yaml").write_text(as_yaml(experiment))
            _launch(folder)
            (folder / "whole").touch()
        finally:
            (folder / "ended").touch()
    assert (folder / "whole").exists(), "training in two processes failed"
    return folder


def _launch(folder: Path) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
    command = [*launcher, "-m", "endotransfer.testing.train_all", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]


def _wait_for(path: Path) -> None:
    until = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < until, "the process that trains for all did not end"
        time.sleep(0.5)
