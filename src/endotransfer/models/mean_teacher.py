"""A mean teacher: a copy of a module whose weights follow the student's as an exponential moving average."""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class MeanTeacher(nn.Module):
    """`module` is the copy: without gradients, always in evaluation mode, saved with the other state."""

    def __init__(self, student: nn.Module, momentum: float = 0.99) -> None:
        super().__init__()
        self.momentum = momentum
        self.module = deepcopy(student).requires_grad_(False).eval()

    @torch.no_grad()
    def forward(self, *inputs: Tensor, **options: str) -> object:
        return self.module(*inputs, **options)

    def train(self, mode: bool = True) -> "MeanTeacher":
        """Stay in evaluation mode, whatever the module around it is told."""
        return super().train(False)

    @torch.no_grad()
    def update(self, student: nn.Module, step: int) -> None:
        """Move towards the student after `step` (0 the first).

        The momentum min(1 - 1/(step + 1), m) makes the teacher the plain mean of all students at first, so
        that the starting weights do not linger.  Buffers follow likewise; those that are no floats are
        copied.
        """
        momentum = min(1 - 1 / (step + 1), self.momentum)
        pairs = list(zip(_tensors(self.module), _tensors(student), strict=True))
        moving = [(mine, theirs.to(mine)) for mine, theirs in pairs if mine.is_floating_point()]
        mine, theirs = ([pair[side] for pair in moving] for side in (0, 1))
        get_ema_multi_avg_fn(momentum)(mine, theirs, None)  # type: ignore[no-untyped-call]
        for own, other in pairs:
            if not own.is_floating_point():
                own.copy_(other)


def _tensors(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(), *module.buffers()]
