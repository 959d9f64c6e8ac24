"""Two processes (gloo) equal one to 1e-6 after 20 steps, where equality is possible: float64, SGD, no dropout."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import load_latest
from endotransfer.experiment_file import as_yaml
from endotransfer.methods import METHODS

CASES = [(name, preset) for name, method in METHODS.items() for preset in method.presets]


@pytest.mark.slow
@pytest.mark.parametrize("world", ["tagged", "untagged"])
@pytest.mark.parametrize(("name", "preset"), CASES)
def test_two_processes_equal_one(
    make_experiment: Any, tmp_path: Path, world: str, name: str, preset: str, unused_tcp_port: int
) -> None:
    settings = {"optimiser": "sgd", "lr": 1e-3, "precision": "64", "epochs": 4, "steps_per_epoch": 5}
    experiment = make_experiment(world, name, preset, **settings)
    experiment = experiment.model_copy(update={"model": experiment.model.model_copy(update={"dropout": 0.0})})
    engine.train(experiment, tmp_path / "one")
    training = experiment.training.model_copy(update={"devices": 2})
    (tmp_path / "two.yaml").write_text(as_yaml(experiment.model_copy(update={"training": training})))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--master-port", str(unused_tcp_port), "-m", "endotransfer.cli"]
    command += ["train", str(tmp_path / "two.yaml"), "--out", str(tmp_path / "two")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (load_latest(tmp_path / run / "checkpoints")[0].tensors["weights"] for run in ("one", "two"))
    assert one.keys() == two.keys()
    for key, value in one.items():
        assert (value - two[key]).abs().max() <= 1e-6 if value.is_floating_point() else (value == two[key]).all(), key


@pytest.fixture
def unused_tcp_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
