"""Means over all processes: whatever a loss averages goes through here, so that two processes equal one."""

import torch.distributed as dist
from torch import Tensor


def world_size() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def sum_over_processes(values: Tensor) -> Tensor:
    """The sum over all processes of `values` (any shape), without gradient.  With one process: `values` itself."""
    values = values.detach().clone()
    if world_size() > 1:
        dist.all_reduce(values)
    return values


def global_mean(numerator: Tensor, count: Tensor | int) -> Tensor:
    """This process's share of sum(numerator) / sum(count), both sums over all processes; 0 where nothing counts.

    The engine averages gradients over processes, so the share is scaled by the number of processes: the average of
    the shares is then the mean over the union of all batches, however unevenly labelled pixels fall to processes.
    """
    counted = count.to(numerator.dtype) if isinstance(count, Tensor) else numerator.new_full((), count)
    total = sum_over_processes(counted)
    # A sum over nothing is zero with zero gradient, so the floor only avoids 0 / 0 (no branch: it would stall a GPU).
    return numerator * world_size() / total.clamp(min=1e-12)
