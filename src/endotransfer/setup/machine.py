"""What a machine has for training: its GPU's memory, or its cores."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    cores: int
    gpu: str | None = None  # its name; None: training runs on the CPU
    gpu_memory: int = 0  # GB (10^9 bytes), as cards are sold: what is sold as 16 GB has 14.7 GiB or more
    bf16: bool = False

    def __str__(self) -> str:
        if self.gpu is not None:
            return f"{self.gpu} with {self.gpu_memory} GB"
        return f"no GPU, {self.cores} CPU core{'' if self.cores == 1 else 's'}"


def this_machine() -> Machine:
    """The first GPU, since an experiment starts on one."""
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not torch.cuda.is_available():
        return Machine(cores)
    found = torch.cuda.get_device_properties(0)
    return Machine(
        cores, found.name, round(found.total_memory / 1e9), torch.cuda.is_bf16_supported(including_emulation=False)
    )
