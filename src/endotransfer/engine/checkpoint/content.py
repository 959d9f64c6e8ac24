"""Tensors and state as bytes, and back.  Nothing here touches the disk."""

import json
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from endotransfer.engine.checkpoint.names import from_stored, to_stored
from endotransfer.errors import CheckpointError


def encode_group(group: str, tensors: dict[str, Tensor]) -> bytes:
    """Each tensor is copied, contiguous, to the CPU: safetensors takes neither views nor shared memory."""
    try:
        copies = {to_stored(name): _own_copy(tensor) for name, tensor in tensors.items()}
        return safetensors.torch.save(copies)
    except (RuntimeError, ValueError, TypeError, KeyError, SafetensorError) as reason:
        raise CheckpointError(
            f"the tensors '{group}' cannot be saved ({_first_line(reason)}); use dense, usual tensors."
        ) from reason


def decode_group(content: bytes, path: Path) -> dict[str, Tensor]:
    try:
        return {from_stored(name): tensor for name, tensor in safetensors.torch.load(content).items()}
    except (RuntimeError, ValueError, TypeError, KeyError, SafetensorError) as reason:
        raise CheckpointError(
            f"{path} holds no readable tensors ({_first_line(reason)}); resume from an earlier checkpoint."
        ) from reason


def encode_state(state: Mapping[str, object]) -> bytes:
    """Refuse what JSON would bend (tuples, integer keys, NaN): what is loaded equals what was saved."""
    try:
        text = json.dumps(state, allow_nan=False, indent=1)
        faithful = json.loads(text) == state
    except (TypeError, ValueError, RecursionError) as reason:
        raise CheckpointError(f"the state cannot be saved as JSON ({_first_line(reason)}).") from reason
    if not faithful:
        raise CheckpointError("the state cannot be saved as JSON: use lists for tuples and text for keys.")
    return text.encode()


def decode_state(content: bytes, path: Path) -> dict[str, object]:
    try:
        state = json.loads(content)
    except (ValueError, RecursionError) as reason:
        raise CheckpointError(f"{path} is not readable JSON; resume from an earlier checkpoint.") from reason
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} does not hold a state; resume from an earlier checkpoint.")
    return state


def _own_copy(tensor: Tensor) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"expected a tensor, got {type(tensor).__name__}")
    return tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)


def _first_line(reason: Exception) -> str:
    return (str(reason).splitlines() or [type(reason).__name__])[0]
