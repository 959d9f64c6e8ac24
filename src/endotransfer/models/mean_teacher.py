"""A mean teacher: a copy of a module whose weights follow the student's as an exponential moving average."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class MeanTeacher(nn.Module):
    """`module` is the copy: without gradients, always in evaluation mode, saved with the other state."""

    def __init__(self, student: nn.Module, momentum: float = 0.99) -> None:
        super().__init__()
        self.momentum = momentum
        self.module = deepcopy(student).requires_grad_(False).eval()
        self._pairs: _Pairs | None = None

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
        if self._pairs is None or self._pairs.student is not student:
            self._pairs = _Pairs.of(self.module, student)
        get_ema_multi_avg_fn(momentum)(self._pairs.mine, self._pairs.theirs, None)  # type: ignore[no-untyped-call]
        if self._pairs.my_counters:
            torch._foreach_copy_(self._pairs.my_counters, self._pairs.their_counters)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "MeanTeacher":
        """Moved to another device or precision, the copy has other tensors."""
        self._pairs = None
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self


@dataclass(frozen=True)
class _Pairs:
    """The copy's tensors beside the student's, listed once: walking all modules takes longer than the update itself."""

    student: nn.Module
    mine: list[Tensor]
    theirs: list[Tensor]
    my_counters: list[Tensor]  # no floats, so that there is no mean of them
    their_counters: list[Tensor]

    @classmethod
    def of(cls, module: nn.Module, student: nn.Module) -> "_Pairs":
        pairs = list(zip(_tensors(module), _tensors(student), strict=True))
        moving = [pair for pair in pairs if pair[0].is_floating_point()]
        counters = [pair for pair in pairs if not pair[0].is_floating_point()]
        return cls(student, *_apart(moving), *_apart(counters))


def _apart(pairs: list[tuple[Tensor, Tensor]]) -> tuple[list[Tensor], list[Tensor]]:
    return [mine for mine, _ in pairs], [theirs for _, theirs in pairs]


def _tensors(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(), *module.buffers()]
