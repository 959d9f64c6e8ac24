"""What only the first process does, and what becomes of the others when it fails: none is left waiting."""

from collections.abc import Callable

import torch
from lightning.fabric import Fabric

from endotransfer.distributed import sum_over_processes
from endotransfer.errors import EndotransferError


def in_first_process(fabric: Fabric, work: Callable[[], object]) -> None:
    """Run `work` in the first process while the others wait; if it fails there, the others leave quietly."""
    error: EndotransferError | None = None
    if fabric.is_global_zero:
        try:
            work()
        except EndotransferError as caught:
            error = caught
    failed = sum_over_processes(torch.tensor(float(error is not None), device=fabric.device))
    if error is not None:
        raise error
    if failed > 0:
        raise SystemExit(1)  # the first process says why
