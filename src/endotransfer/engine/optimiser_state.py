"""The state of a torch optimiser as tensors and plain JSON, and back: its next step is bit-identical."""

from collections.abc import Mapping
from typing import TypedDict, cast

import torch
from torch import Tensor
from torch.optim import Optimizer

from endotransfer.engine.optimiser_check import check_state, completed
from endotransfer.errors import CheckpointError


class OptimiserIdentity(TypedDict):
    """What two optimisers must share for the state of one to fit the other."""

    kind: str  # the optimiser's class
    shapes: list[list[list[int]]]  # of the parameters, by group


class PackedOptimiser(OptimiserIdentity):
    """The JSON part; a tensor is named here and stored beside it."""

    state: dict[str, dict[str, object]]  # by index of the parameter
    param_groups: list[dict[str, object]]


def pack_optimiser(optimiser: Optimizer) -> tuple[dict[str, Tensor], PackedOptimiser]:
    """A snapshot on the CPU: tensors such as `state.0.exp_avg`, and JSON that says where each belongs."""
    full = optimiser.state_dict()
    tensors: dict[str, Tensor] = {}
    state = {
        str(index): {name: _pack(value, f"state.{index}.{name}", tensors) for name, value in values.items()}
        for index, values in full["state"].items()
    }
    groups = [
        {name: _pack(value, f"group.{position}.{name}", tensors) for name, value in group.items()}
        for position, group in enumerate(full["param_groups"])
    ]
    return tensors, {**_identity(optimiser), "state": state, "param_groups": groups}


def unpack_optimiser(optimiser: Optimizer, tensors: Mapping[str, Tensor], packed: object) -> None:
    """Put a packed state, as read from a checkpoint, into `optimiser`: same class, parameters of the same shapes."""
    read = cast(PackedOptimiser, packed)  # a file's content: whatever is missing or malformed is refused below
    try:
        for what, own in _identity(optimiser).items():
            if read.get(what) != own:
                raise CheckpointError(
                    f"the stored optimiser belongs to another model (its {what} is not the configured one); "
                    "use the configuration it was trained with."
                )
        state = {int(index): _unpack_all(values, tensors) for index, values in read["state"].items()}
        own = optimiser.param_groups
        groups = [
            completed(mine, _unpack_all(group, tensors)) for mine, group in zip(own, read["param_groups"], strict=True)
        ]
        check_state(_bare(optimiser), state, groups)
        optimiser.load_state_dict({"state": state, "param_groups": groups})
        _lay_out_as_weights(_bare(optimiser))
    except (KeyError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError) as reason:
        raise CheckpointError(
            "the stored optimiser is incomplete or malformed; resume from an earlier checkpoint."
        ) from reason


def _lay_out_as_weights(optimiser: Optimizer) -> None:
    """Give every moment the strides of its weight, as the first step would have: a file holds them contiguous.

    A fused step walks weights and moments in the order of their memory.  With a channels-last weight and a contiguous
    moment CUDA refuses it, and a processor silently pairs the wrong numbers.
    """
    for weight, values in optimiser.state.items():
        for name, value in values.items():
            if isinstance(value, Tensor) and value.shape == weight.shape and value.stride() != weight.stride():
                values[name] = torch.empty_like(weight, dtype=value.dtype, device=value.device).copy_(value)


def _identity(optimiser: Optimizer) -> OptimiserIdentity:
    shapes = [[list(parameter.shape) for parameter in group["params"]] for group in optimiser.param_groups]
    return {"kind": type(_bare(optimiser)).__name__, "shapes": shapes}


def _bare(optimiser: Optimizer) -> Optimizer:
    bare: Optimizer = getattr(optimiser, "optimizer", optimiser)  # Fabric wraps optimisers in a class of another name
    return bare


def _pack(value: object, name: str, tensors: dict[str, Tensor]) -> object:
    """JSON has no tuples and no tensors: both become a tagged object."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        return {"tensor": name}
    if isinstance(value, list | tuple):
        items = [_pack(item, f"{name}.{position}", tensors) for position, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise CheckpointError(
        f"the optimiser's '{name}' is a {type(value).__name__}, which JSON cannot hold; use Adam or SGD."
    )


def _unpack(value: object, tensors: Mapping[str, Tensor]) -> object:
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]].clone()  # torch keeps what it is given, and changes it in place
        return tuple(_unpack(item, tensors) for item in value["tuple"])
    if isinstance(value, list):
        return [_unpack(item, tensors) for item in value]
    return value


def _unpack_all(values: Mapping[str, object], tensors: Mapping[str, Tensor]) -> dict[str, object]:
    return {name: _unpack(value, tensors) for name, value in values.items()}
