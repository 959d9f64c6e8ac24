"""Weights in half precision, for a folder of half the size; they are computed with in full precision again."""

import hashlib

import torch
from safetensors.torch import save
from torch import Tensor

MATRIX = 2  # dimensions from which a tensor is halved: scales, shifts and statistics are few, and need their range


def halved(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same with float16 in place of float32, but for what has one dimension or would leave float16's range."""
    return {name: _half(value) for name, value in weights.items()}


def _half(value: Tensor) -> Tensor:
    if value.dtype != torch.float32 or value.ndim < MATRIX:
        return value
    half = value.half()
    return half if bool(torch.isfinite(half).all()) else value


def as_file(weights: dict[str, Tensor]) -> tuple[bytes, str]:
    """The content of weights.safetensors, and its SHA-256."""
    content = save({name: value.contiguous() for name, value in weights.items()})
    return content, hashlib.sha256(content).hexdigest()
