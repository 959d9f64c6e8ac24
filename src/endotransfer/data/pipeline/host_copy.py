"""Tensors on their way from a GPU to the host: who asks for the values waits, and nobody else."""

import torch
from torch import Tensor


class HostCopy:
    """A copy of `values`, which is not changed meanwhile; on a CPU the very tensor.

    The copy goes into pinned memory, behind what the GPU was asked for so far and before what it is asked for later,
    so that the host may ask for more at once.
    """

    def __init__(self, values: Tensor) -> None:
        self._values = values
        self._ready: torch.cuda.Event | None = None
        if values.is_cuda:  # pragma: needs cuda
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            self._ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._ready.record(torch.cuda.current_stream(values.device))

    def get(self) -> Tensor:
        """The values on the host; from any thread."""
        if self._ready is not None:  # pragma: needs cuda
            self._ready.synchronize()
        return self._values
