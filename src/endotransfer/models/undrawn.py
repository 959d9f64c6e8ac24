"""Networks built without drawing first weights, for those whose weights are read from a file right afterwards."""

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_DRAWING = {Tensor.normal_, Tensor.uniform_, nn.init.kaiming_normal_, nn.init.kaiming_uniform_, nn.init.normal_,
            nn.init.uniform_, nn.init.xavier_normal_, nn.init.xavier_uniform_}  # fmt: skip


class WithoutDrawing(TorchFunctionMode):
    """Within `with`, functions that fill a tensor with random numbers leave it as it is: they take most of the time."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Iterable[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        given = kwargs or {}
        if func in _DRAWING:
            return args[0] if args else given["tensor"]  # torch.nn.init hands its tensor over by name
        return func(*args, **given)


def build_undrawn(build: Callable[[], nn.Module]) -> nn.Module:
    """What `build` makes, its weights still to be filled in."""
    with WithoutDrawing():
        return build()


def outline_of(build: Callable[[], nn.Module]) -> nn.Module | None:
    """The same without memory, however large: names and shapes only.  None for a network that needs its values."""
    try:
        with torch.device("meta"):
            return build()
    except (NotImplementedError, RuntimeError):  # somebody's network may look at a weight while it is built
        return None
