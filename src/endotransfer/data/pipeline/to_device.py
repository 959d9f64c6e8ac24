"""Batches from bytes in memory to numbers on a device."""

from copy import copy
from dataclasses import fields
from typing import TypeVar

import torch
from torch import Tensor

from endotransfer.batch import Batch, PassBatch, SourceBatch, TargetBatch

AnyBatch = TypeVar("AnyBatch", bound=Batch | SourceBatch | TargetBatch | PassBatch)


def to_device(batch: AnyBatch, device: torch.device | str, dtype: torch.dtype = torch.float32) -> AnyBatch:
    """A batch on `device`: images of `dtype` in [0, 1], everything else int64.

    Bytes are moved and converted on arrival: a quarter of the traffic of floats.
    """
    moved = copy(batch)
    for field in fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, SourceBatch | TargetBatch):
            setattr(moved, field.name, to_device(value, device, dtype))
        elif isinstance(value, Tensor):
            there = value.to(device, non_blocking=True)
            setattr(moved, field.name, to_unit(there, dtype) if field.name == "images" else there.long())
    return moved


def to_unit(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Bytes -> numbers in [0, 1]; other types are only cast."""
    return images.to(dtype) / 255 if images.dtype == torch.uint8 else images.to(dtype)


def like(values: Tensor, pattern: Tensor) -> Tensor:
    """`values` from the CPU with the device and type of `pattern`; no host waits for the copy."""
    if pattern.is_cuda:
        values = values.pin_memory()  # pragma: needs cuda
    return values.to(pattern.device, pattern.dtype, non_blocking=True)
