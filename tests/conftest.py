"""Two tiny worlds that every method is run in: two classes with tags, five classes without."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from hypothesis import settings
from safetensors.torch import save

from endotransfer.config import Experiment, experiment_from
from endotransfer.data.phantom import write_phantom
from endotransfer.errors import CheckpointError
from endotransfer.io import write_atomically
from endotransfer.methods import METHODS
from tests.budgets import pytest_runtest_logreport, pytest_terminal_summary  # noqa: F401  (pytest finds them here)

# A busy machine makes one example in thousands slow; budgets (tests/budgets.py) watch the time instead.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

WORLDS = {"tagged": "lesion", "untagged": "five_class"}
SIZE = 32


@pytest.fixture(scope="session", autouse=True)
def _one_thread_and_own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Thread counts change the last bits of a sum; and no test touches the user's cache."""
    torch.set_num_threads(1)
    os.environ["ENDOTRANSFER_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with a `gastroscopy` and a `capsule` domain each, 12 images a domain."""
    root = tmp_path_factory.mktemp("worlds")
    for name, variant in WORLDS.items():
        write_phantom(root / name, 12, seed=1, size=SIZE, variant=variant, processes=1)
    return {name: root / name for name in WORLDS}


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights for the tiny backbone in a file, as a user has them: some parts ask for features that were learnt."""
    torch.manual_seed(0)
    net = timm.create_model("test_resnet", features_only=True, output_stride=8)
    # In one place for all workers: a run that one began, another may have to resume.
    root = tmp_path_factory.getbasetemp()
    path = (root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root) / "test_resnet.safetensors"
    write_atomically(path, save(net.state_dict()), CheckpointError)
    return path


MakeExperiment = Callable[..., Experiment]


@pytest.fixture(scope="session")
def make_experiment(worlds: dict[str, Path], taught: Path) -> MakeExperiment:
    """`make_experiment("tagged", "semantic_transfer", "paper", lr=...)`: a few steps of a tiny network.

    The tagged world starts from weights in a file, the other from scratch.
    """

    def make(
        world: str, method: str, preset: str | None = None, *, data: Path | None = None, **training: Any
    ) -> Experiment:
        folder = data or worlds[world]
        norm = "batch" if METHODS.get(method).needs.live_statistics else "group"
        settings = {"epochs": 3, "steps_per_epoch": 3, "batch_source": 4, "batch_target": 4, "lr": 1e-3}
        quick = {"semantic_transfer": {"evidence_steps": 20}}
        settings |= {"workers": 0, "tensorboard": False, "log_every": 1, "accelerator": "cpu", **training}
        return experiment_from(
            {
                "data": {
                    "source": str(folder / "gastroscopy"),
                    "target": str(folder / "capsule"),
                    "size": SIZE,
                    "tags": world == "tagged",
                },
                "model": {
                    "backbone": "test_resnet", "pretrained": False, "norm": norm, "multi_grid": None,
                    "weights": str(taught) if world == "tagged" else None,
                    "aspp_rates": [1, 2, 3], "aspp_channels": 16, "dropout": 0.1,
                },
                "method": {"name": method} | ({"preset": preset} if preset else {}) | quick.get(method, {}),
                "training": settings,
                "evaluation": {"resamples": 20},
            }
        )  # fmt: skip

    return make
