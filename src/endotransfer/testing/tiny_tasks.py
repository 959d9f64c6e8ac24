"""Two tiny tasks that every method is run on, and an experiment of a few steps on either."""

from pathlib import Path

import timm
import torch
from safetensors.torch import save

from endotransfer.config import Experiment, RawConfig, experiment_from
from endotransfer.data.phantom import write_phantom
from endotransfer.errors import CheckpointError
from endotransfer.io import write_atomically
from endotransfer.methods import METHODS, method_config

TASKS = {"tagged": "lesion", "untagged": "five_class"}  # name -> the phantom's variant
CLASSES = {"tagged": 2, "untagged": 5}
SIZE = 32
BACKBONE = "test_resnet"
MOST = {"local_steps": 20, "translation_steps": 3}  # of a method's own steps, where it has such a setting


def write_tasks(root: Path) -> dict[str, Path]:
    """Folders with a `gastroscopy` (source) and a `capsule` (target) domain each, 12 images a domain."""
    for name, variant in TASKS.items():
        write_phantom(root / name, 12, seed=1, size=SIZE, variant=variant, processes=1)
    return {name: root / name for name in TASKS}


def write_backbone(path: Path) -> Path:
    """Weights for the tiny backbone in a file, as a user has them: some parts ask for features that were learnt."""
    torch.manual_seed(0)
    net = timm.create_model(BACKBONE, features_only=True, output_stride=8)
    write_atomically(path, save(net.state_dict()), CheckpointError)
    return path


def quick_settings(method: RawConfig) -> RawConfig:
    """What makes a `method` of an experiment quick: fewer steps of its own, where it has more than a few."""
    _, _, config = method_config(method)
    return {key: most for key, most in MOST.items() if getattr(config, key, 0) > most}


def tiny_experiment(
    task: str, folder: Path, backbone: Path, method: str, preset: str | None = None, **training: object
) -> Experiment:
    """Nine steps of a tiny network.  The tagged task starts from weights in a file, the other from scratch."""
    cls = METHODS.get(method)
    settings: RawConfig = {"epochs": 3, "steps_per_epoch": 3, "batch_source": 4, "batch_target": 4, "lr": 1e-3}
    settings |= {"workers": 0, "loggers": [], "log_every": 1, "accelerator": "cpu", **training}
    named: RawConfig = {"name": method} | ({"preset": preset} if preset else {})
    return experiment_from(
        {
            "data": {
                "source": str(folder / "gastroscopy"), "target": str(folder / "capsule"),
                "size": SIZE, "tags": task == "tagged",
            },
            "model": {
                "backbone": BACKBONE, "pretrained": False, "multi_grid": None,
                "norm": "batch" if cls.needs.live_statistics else "group",
                "weights": str(backbone) if task == "tagged" else None,
                "aspp_rates": [1, 2, 3], "aspp_channels": 16, "dropout": 0.1,
            },
            "method": named | quick_settings(named),
            "training": settings,
            "evaluation": {"resamples": 20},
        }
    )  # fmt: skip
