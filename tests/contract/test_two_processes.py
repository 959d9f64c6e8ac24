"""Two processes (gloo) equal one to 1e-6 after 20 steps, where equality is possible: float64, SGD, no dropout."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from endotransfer.config import Experiment, as_yaml, read_experiment
from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.methods import METHODS

# Every preset with tags; without them the presets of a method differ by nothing that processes could disagree on.
# Statistics of a batch differ from those of its halves, so a method that lives on them cannot be equal.
EQUAL = {name: method for name, method in METHODS.items() if not method.needs.live_statistics}
CASES = [("tagged", name, preset) for name, method in EQUAL.items() for preset in method.presets]
CASES += [("untagged", name, next(iter(method.presets))) for name, method in EQUAL.items() if not method.needs.tags]
WORKER = Path(__file__).with_name("train_all.py")


def exact(
    make_experiment: Any, world: str, name: str, preset: str, devices: int = 1, data: Path | None = None
) -> Experiment:
    settings = {"optimiser": "sgd", "lr": 1e-3, "precision": "64", "epochs": 4, "steps_per_epoch": 5}
    settings["checkpoint_every"] = 12  # in mid-epoch, for a run to be taken up from
    experiment = make_experiment(world, name, preset, data=data, devices=devices, **settings)
    return experiment.model_copy(update={"model": experiment.model.model_copy(update={"dropout": 0.0})})


@pytest.fixture(scope="module")
def in_two_processes(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every case trained by one pair of processes: starting them costs more than training.

    Tests that run side by side share it: the first to come trains, the others wait.
    """
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root) / "two-processes"
    try:
        folder.mkdir()
    except FileExistsError:
        _wait_for(folder / "ended")
    else:
        (folder / "part").mkdir()
        try:
            _train_all(make_experiment, folder / "part")
        finally:
            (folder / "ended").touch()
    assert (folder / "part" / "whole").exists()
    return folder / "part"


def _train_all(make_experiment: Any, folder: Path) -> None:
    for case in CASES:
        (folder / f"{'-'.join(case)}.yaml").write_text(as_yaml(exact(make_experiment, *case, devices=2)))
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, WORKER, folder], capture_output=True, text=True, timeout=1500, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "whole").touch()


def _wait_for(path: Path, seconds: float = 1500) -> None:
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, "the process that trains for all did not end"
        time.sleep(0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("world", "name", "preset"), CASES)
def test_two_processes_equal_one(
    in_two_processes: Path, make_experiment: Any, tmp_path: Path, world: str, name: str, preset: str
) -> None:
    engine.train(exact(make_experiment, world, name, preset), tmp_path / "one")
    together = in_two_processes / f"{world}-{name}-{preset}"
    figures, alone = (json.loads((run / "results.json").read_text()) for run in (together, tmp_path / "one"))
    assert figures["cost"]["processes"] == 2
    assert figures["images"] == alone["images"]  # each process measured its half
    assert figures["miou"] == pytest.approx(alone["miou"], abs=0.5)  # a pixel may tip over
    assert figures.get("tag_evidence", {}).keys() == alone.get("tag_evidence", {}).keys()
    one, two = (load_latest(run / "checkpoints")[0].tensors["weights"] for run in (tmp_path / "one", together))
    assert one.keys() == two.keys()
    for key, value in one.items():
        assert (value.double() - two[key].double()).abs().max() <= 1e-6, key


@pytest.mark.slow
@pytest.mark.parametrize(("name", "preset"), [("semantic_transfer", "robust"), ("cbst", "default")])
def test_what_two_processes_began_one_can_finish(
    in_two_processes: Path, make_experiment: Any, tmp_path: Path, name: str, preset: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(in_two_processes / f"tagged-{name}-{preset}", run)
    finished = list_steps(run / "checkpoints")[-1]
    shutil.rmtree(run / "checkpoints" / f"step-{finished:08d}")  # as if both had been stopped in mid-epoch
    (run / "results.json").unlink()
    begun_with = read_experiment(run / "config.yaml").data.source[0].path.parent  # another worker's world, maybe
    experiment = exact(make_experiment, "tagged", name, preset, data=begun_with)
    engine.train(experiment, run, resume=True)
    engine.train(experiment, tmp_path / "one")
    one, other = (load_latest(folder / "checkpoints")[0].tensors["weights"] for folder in (tmp_path / "one", run))
    for key, value in one.items():
        assert (value.double() - other[key].double()).abs().max() <= 1e-6, key
