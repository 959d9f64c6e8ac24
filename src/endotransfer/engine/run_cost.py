"""What a run took: time, speed and the machine it ran on."""

import os
import platform

import torch

from endotransfer.engine.trainer import Trainer


def run_cost(trainer: Trainer, first: int, seconds: float) -> dict[str, object]:
    """The cost of the steps from `first` on, which took `seconds`; counts the images that were really read."""
    training, steps = trainer.training, trainer.steps - first
    target = sum(max(0, epoch.last - max(first, epoch.first)) for epoch in trainer.plan if epoch.stage.target)
    images = training.accumulate * (steps * training.batch_source + target * training.batch_target)
    cost: dict[str, object] = {
        "seconds": round(seconds, 2),
        "target_pass_seconds": round(trainer.target_passes.seconds, 2),
        "steps": steps,
        "images_per_second": round(images / seconds, 1) if steps else None,
        "device": platform.processor() or platform.machine(),
        "processes": trainer.fabric.world_size,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }
    if trainer.fabric.device.type == "cuda":  # pragma: needs cuda
        cost["device"] = torch.cuda.get_device_name()
        cost["gpu_memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    return cost
