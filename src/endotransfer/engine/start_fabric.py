"""Devices, processes and precision of a run (Lightning Fabric)."""

import os
from datetime import timedelta
from typing import Literal

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies.ddp import DDPStrategy

from endotransfer.config import TrainingConfig
from endotransfer.distributed import naming_lost_processes
from endotransfer.engine.stall_watch import keep_watch
from endotransfer.errors import ConfigError
from endotransfer.patience import FOR_RANKS, patience

Precision = Literal["32-true", "bf16-mixed", "64-true"]
PRECISIONS: dict[str, Precision] = {"32": "32-true", "bf16": "bf16-mixed", "64": "64-true"}


def start_fabric(training: TrainingConfig) -> Fabric:
    """Start the processes.  Gradients are averaged by the engine itself, so modules are never wrapped."""
    if training.accelerator == "cuda" and not torch.cuda.is_available():
        raise ConfigError("training.accelerator is cuda but no GPU is there; set it to auto or cpu.")
    # Not "auto": Lightning would also take a Mac's GPU, which has no float64.
    cuda = torch.cuda.is_available() and training.accelerator != "cpu"
    if cuda and training.devices > torch.cuda.device_count():  # pragma: needs cuda
        raise ConfigError(f"training.devices is {training.devices} but there are {torch.cuda.device_count()} GPUs.")
    _be_deterministic(training.deterministic and cuda)
    processes = training.devices * training.nodes
    if processes > 1:
        keep_watch()
    waits = timedelta(seconds=patience(FOR_RANKS))
    fabric = Fabric(
        accelerator="gpu" if cuda else "cpu", devices=training.devices, num_nodes=training.nodes,
        strategy=DDPStrategy(timeout=waits) if processes > 1 else "auto",
        precision=PRECISIONS[training.precision],
    )  # fmt: skip
    with naming_lost_processes(processes):
        fabric.launch()
    if cuda:  # pragma: needs cuda
        torch.cuda.reset_peak_memory_stats()  # several runs in one process: each has its own peak
    return fabric


def _be_deterministic(wanted: bool) -> None:
    """Let a GPU choose kernels that give the same bits every time, or (again) the fastest; a CPU needs neither.

    torch warns of each operation that has no such kernel, by its name, and goes on.
    """
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS is first used
    torch.use_deterministic_algorithms(wanted, warn_only=True)
    torch.backends.cudnn.benchmark = False  # timing picks kernels anew in every run
