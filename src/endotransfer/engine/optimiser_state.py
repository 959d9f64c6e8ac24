"""The state of a torch optimiser as tensors and plain JSON, and back: its next step is bit-identical."""

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from endotransfer.errors import CheckpointError


def pack_optimiser(optimiser: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
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


def unpack_optimiser(optimiser: Optimizer, tensors: dict[str, Tensor], json_state: dict[str, Any]) -> None:
    """Put a packed state into `optimiser`, of the same kind and over parameters of the same shapes."""
    for what, own in _identity(optimiser).items():
        if json_state.get(what) != own:
            raise CheckpointError(
                f"the stored optimiser belongs to another model (its {what} is not the configured one); "
                "use the configuration it was trained with."
            )
    try:
        full = {
            "state": {int(index): _unpack_all(values, tensors) for index, values in json_state["state"].items()},
            "param_groups": [_unpack_all(group, tensors) for group in json_state["param_groups"]],
        }
        optimiser.load_state_dict(full)
    except (KeyError, ValueError, TypeError, AttributeError) as reason:
        raise CheckpointError(
            "the stored optimiser is incomplete or malformed; resume from an earlier checkpoint."
        ) from reason


def _identity(optimiser: Optimizer) -> dict[str, Any]:
    """What two optimisers must share for the state of one to fit the other."""
    bare = getattr(optimiser, "optimizer", optimiser)  # Fabric wraps optimisers in a class of another name
    shapes = [[list(parameter.shape) for parameter in group["params"]] for group in optimiser.param_groups]
    return {"class": type(bare).__name__, "list of parameter shapes": shapes}


def _pack(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
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


def _unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]].clone()  # torch keeps what it is given, and changes it in place
        return tuple(_unpack(item, tensors) for item in value["tuple"])
    if isinstance(value, list):
        return [_unpack(item, tensors) for item in value]
    return value


def _unpack_all(values: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    return {name: _unpack(value, tensors) for name, value in values.items()}
