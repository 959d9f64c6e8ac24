"""Means over all processes: whatever a loss averages goes through here, so that two processes equal one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor

from endotransfer.errors import DataError
from endotransfer.patience import FOR_RANKS, patience, stopped_children

_LOST = re.compile(r"timed out|timeout|closed by peer|reset by peer|broken pipe", re.IGNORECASE)


def world_size() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def sum_over_processes(values: Tensor) -> Tensor:
    """The sum over all processes of `values` (any shape), without gradient.  With one process: `values` itself."""
    values = values.detach().clone()
    if world_size() > 1:
        dist.all_reduce(values)
    return values


def gather_texts(text: str, device: torch.device | str = "cpu") -> list[str]:
    """What every process says, in the order of the processes.  Bytes, not pickles."""
    if world_size() == 1:
        return [text]
    said = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8).to(device)
    lengths = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(world_size())]
    dist.all_gather(lengths, torch.tensor([len(said)], device=device))
    longest = max(int(length) for length in lengths)
    padded = [torch.zeros(longest, dtype=torch.uint8, device=device) for _ in lengths]
    dist.all_gather(padded, torch.nn.functional.pad(said, (0, longest - len(said))))
    texts = [values[: int(length)] for values, length in zip(padded, lengths, strict=True)]
    return [bytes(values.cpu().numpy()).decode() for values in texts]


@contextmanager
def naming_lost_processes(processes: int | None = None) -> Iterator[None]:
    """A process that is stopped or gone makes all others fail in the midst of something: say that, and which.

    `processes`: how many there should be, before they have found each other.
    """
    try:
        yield
    except RuntimeError as reason:
        if (processes or world_size()) == 1 or not _LOST.search(str(reason)):
            raise
        stopped = ", ".join(map(str, stopped_children()))
        which = f"process {stopped} of this run is stopped" if stopped else "another process of this run ended or hangs"
        fix = f"continue or end it, then start all again with --resume (waited {patience(FOR_RANKS)} s)"
        raise DataError(f"{which}; {fix}.") from reason


def global_mean(numerator: Tensor, count: Tensor | int) -> Tensor:
    """This process's share of sum(numerator) / sum(count), both sums over all processes; 0 where nothing counts.

    The engine averages gradients over processes, so the share is scaled by the number of processes: the average of
    the shares is then the mean over the union of all batches, however unevenly labelled pixels fall to processes.
    """
    counted = count.to(numerator.dtype) if isinstance(count, Tensor) else numerator.new_full((), count)
    total = sum_over_processes(counted)
    # A sum over nothing is zero with zero gradient, so the floor only avoids 0 / 0 (no branch: it would stall a GPU).
    return numerator * world_size() / total.clamp(min=1e-12)
