"""Whether a stored optimiser state is one that the optimiser could have written itself.

torch takes almost anything and fails at the next step, or goes on with it.  What a state must look like is found by
taking one step with an optimiser of the same class on a parameter of two numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import torch
from torch import Tensor
from torch.optim import Optimizer

Values = Mapping[str, object]
HOW = ("capturable", "differentiable", "foreach", "fused")  # settings that change how a step is computed, not what

LARGEST_RATE = 1e6  # with anything beyond, the next step would leave no finite weight


def check_state(optimiser: Optimizer, state: Mapping[int, Values], groups: Sequence[Values]) -> None:
    """ValueError for what `optimiser` (bare, with its parameters) could not have written."""
    if len(groups) != len(optimiser.param_groups):
        raise ValueError("another number of groups")
    parameters: list[Tensor] = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    first = 0
    for own, stored in zip(optimiser.param_groups, groups, strict=True):
        count = len(own["params"])
        _check_group({name: value for name, value in own.items() if name != "params"}, stored)
        if stored.get("params") != list(range(first, first + count)):
            raise ValueError("other parameters")
        expected = _state_after_a_step(optimiser, own)
        for index in range(first, first + count):
            if expected is not None and state.get(index):
                _check_values(expected, state[index], parameters[index])
        first += count
    if not set(state) <= set(range(first)):
        raise ValueError("unknown parameters")


def completed(own: Values, stored: Values) -> dict[str, object]:
    """A stored group with what this version and machine have beyond it: how steps are computed may differ."""
    here = {name: value for name, value in own.items() if name != "params"}
    return {**here, **stored, **{name: here[name] for name in HOW if name in here}}


def _check_group(own: Values, stored: Values) -> None:
    """All but the rate come from the experiment, which is the one that the run began with."""
    for name, value in own.items():
        if name != "lr" and name not in HOW and not _equal(value, stored.get(name)):
            raise ValueError(f"another {name}")
    rate = stored.get("lr")
    if not _is_rate(rate) or isinstance(rate, Tensor) != isinstance(own.get("lr"), Tensor):
        raise ValueError("no rate")


def _equal(own: object, stored: object) -> bool:
    if isinstance(own, Tensor) or isinstance(stored, Tensor):
        return isinstance(own, Tensor) and isinstance(stored, Tensor) and torch.equal(own.cpu(), stored.cpu())
    return isinstance(own, bool) == isinstance(stored, bool) and own == stored


def _is_rate(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.dim() == 0 and 0 <= value.item() <= LARGEST_RATE
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST_RATE


def _state_after_a_step(optimiser: Optimizer, group: Values) -> Values | None:
    """What one parameter's state holds once it was updated; None for a class that cannot be tried out like this."""
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.grad = torch.zeros(2)
    settings = {name: value for name, value in group.items() if name not in ("params", "fused")}
    try:
        made = cast(Callable[..., Optimizer], type(optimiser))
        trial = made([{**settings, "params": [parameter]}], **_rate(settings))
        trial.step()
    except Exception:  # anybody's optimiser may want arguments that nobody knows here
        return None
    found: Values = trial.state[parameter]
    return found


def _rate(settings: Values) -> dict[str, object]:
    return {"lr": settings["lr"]} if "lr" in settings else {}


def _check_values(expected: Values, stored: Values, parameter: Tensor) -> None:
    if stored.keys() != expected.keys():
        raise ValueError("other values than its class keeps")
    for name, value in expected.items():
        found = stored[name]
        if not isinstance(value, Tensor):
            if type(found) is not type(value) and not isinstance(found, Tensor):
                raise ValueError(f"{name} of another kind")
            continue
        shape = parameter.shape if value.dim() else value.shape
        if not isinstance(found, Tensor) or found.shape != shape or not bool(found.isfinite().all()):
            raise ValueError(f"{name} of another shape, or not finite")
        if name == "step" and bool(found < 0):
            raise ValueError("a step before the first")
