"""A training run under observation: which networks moved in which phase, and which weights got a gradient."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import torch
from torch import Tensor, nn

from endotransfer.batch import Batch
from endotransfer.methods.base import Memo, Method


@dataclass
class Watch:
    """What was seen.  Weights are called `network.weight`."""

    phases: set[str] = field(default_factory=set)  # that ran
    trained: set[str] = field(default_factory=set)  # weights that some phase trains
    with_gradient: set[str] = field(default_factory=set)
    not_finite: set[str] = field(default_factory=set)  # weights whose gradient was not
    strayed: set[str] = field(default_factory=set)  # `phase: weight` that moved, or got a gradient, in another's phase
    _phase: str | None = None
    _others: dict[str, Tensor] = field(default_factory=dict)

    def begin(self, method: Method, phase: str) -> None:
        """A phase begins: remember what it must leave alone."""
        self.end(method)
        self._phase = phase
        self.phases.add(phase)
        for network in _networks(method, phase, own=False).values():
            network.zero_grad(set_to_none=True)
        self._others = _state(_networks(method, phase, own=False))

    def end(self, method: Method) -> None:
        """The phase before, if any, has made its update: compare."""
        if (phase := self._phase) is None:
            return
        self._phase = None
        others = _networks(method, phase, own=False)
        after = _state(others)
        moved = {name for name, value in self._others.items() if not torch.equal(value, after[name])}
        reached = {name for name, weight in _weights(others) if weight.grad is not None}
        self.strayed |= {f"{phase}: {name}" for name in moved | reached}
        for name, weight in _weights(_networks(method, phase, own=True)):
            self.trained.add(name)
            if weight.grad is not None:
                self.with_gradient.add(name)
                self.not_finite |= set() if weight.grad.isfinite().all() else {name}


@contextmanager
def watching(cls: type[Method]) -> Iterator[Watch]:
    """Watch every step of `cls` through the two calls that surround each of its phases."""
    watch, losses, after_step = Watch(), cls.losses, cls.after_step

    def watched_losses(self: Method, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        watch.begin(self, phase)
        return losses(self, phase, batch, memo)

    def watched_after_step(self: Method) -> None:
        watch.end(self)
        after_step(self)

    with patch.object(cls, "losses", watched_losses), patch.object(cls, "after_step", watched_after_step):
        yield watch


def _networks(method: Method, phase: str, *, own: bool) -> dict[str, nn.Module]:
    """The networks that `phase` trains, or those that only other phases do."""
    mine = method.phases[phase]
    names = {name for networks in method.phases.values() for name in networks}
    return {name: method.get_submodule(name) for name in names if (name in mine) == own and hasattr(method, name)}


def _state(networks: dict[str, nn.Module]) -> dict[str, Tensor]:
    return {
        f"{network}.{name}": value.clone()
        for network, module in networks.items()
        for name, value in module.state_dict().items()
    }


def _weights(networks: dict[str, nn.Module]) -> Iterator[tuple[str, nn.Parameter]]:
    for network, module in networks.items():
        for name, parameter in module.named_parameters():
            yield f"{network}.{name}", parameter
