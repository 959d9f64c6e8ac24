"""Fixtures of the contract tests: `pytest_plugins = ["endotransfer.testing.fixtures"]`."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
import torch

from endotransfer.config import Experiment
from endotransfer.engine.run import train
from endotransfer.methods import METHODS
from endotransfer.testing.cases import Case
from endotransfer.testing.contract import TWO_PROCESSES
from endotransfer.testing.tiny_tasks import tiny_experiment, write_backbone, write_tasks
from endotransfer.testing.two_processes import SETTINGS, train_in_two_processes, without_dropout
from endotransfer.testing.watched_run import Watch, watching


class MakeExperiment(Protocol):
    def __call__(
        self, task: str, method: str, preset: str | None = None, *, data: Path | None = None, **training: object
    ) -> Experiment: ...


@dataclass
class TrainedRuns:
    """`trained(case)`: the folder of a finished run, trained once and shared by all tests that only look at it."""

    make_experiment: MakeExperiment
    new_folder: Callable[[str], Path]
    watches: dict[Case, Watch] = field(default_factory=dict)
    folders: dict[Case, Path] = field(default_factory=dict)

    def __call__(self, case: Case) -> Path:
        if case not in self.folders:
            out = self.new_folder("runs") / "run"
            with watching(METHODS.get(case.method)) as watch:
                train(self.make_experiment(case.task, case.method, case.preset), out)
            self.folders[case], self.watches[case] = out, watch
        return self.folders[case]

    def watched(self, case: Case) -> Watch:
        """What was seen during training."""
        self(case)
        return self.watches[case]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left out of a quick run")
    config.addinivalue_line("markers", "extended: secondary presets and long variants")


@pytest.fixture(scope="session")
def single_thread_and_own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Thread counts change the last bits of a sum; and no test touches the user's cache."""
    torch.set_num_threads(1)
    os.environ["ENDOTRANSFER_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One place for all workers of pytest-xdist: a run that one began, another may have to resume."""
    root = tmp_path_factory.getbasetemp()
    return root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory, single_thread_and_own_cache: None) -> dict[str, Path]:
    """The folders of the two tiny tasks, each with a `gastroscopy` and a `capsule` domain."""
    return write_tasks(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="session")
def taught(shared_folder: Path) -> Path:
    """A file with weights of the tiny backbone."""
    return write_backbone(shared_folder / "test_resnet.safetensors")


@pytest.fixture(scope="session")
def make_experiment(tasks: dict[str, Path], taught: Path) -> MakeExperiment:
    """`make_experiment("tagged", "semantic_transfer", "paper", lr=...)`: a few steps of a tiny network."""

    def make(
        task: str, method: str, preset: str | None = None, *, data: Path | None = None, **training: object
    ) -> Experiment:
        return tiny_experiment(task, data or tasks[task], taught, method, preset, **training)

    return make


@pytest.fixture(scope="session")
def trained(make_experiment: MakeExperiment, tmp_path_factory: pytest.TempPathFactory) -> TrainedRuns:
    return TrainedRuns(make_experiment, tmp_path_factory.mktemp)


@pytest.fixture(scope="session")
def in_two_processes(make_experiment: MakeExperiment, shared_folder: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with the run of every case that is to be compared in this session."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    # A test of the same name elsewhere may have no parameters at all.
    specs = [getattr(item, "callspec", None) for item in items if item.originalname == TWO_PROCESSES]
    params = {spec.params.get("case") for spec in specs if spec is not None}
    cases = sorted((case for case in params if isinstance(case, Case)), key=str)

    def experiment(case: Case) -> Experiment:
        return without_dropout(make_experiment(case.task, case.method, case.preset, devices=2, **SETTINGS))

    return train_in_two_processes([(case, experiment(case)) for case in cases], shared_folder / "two-processes")
