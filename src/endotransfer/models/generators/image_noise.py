"""Noise that belongs to an image and a step, whatever process draws it and whoever shares its batch."""

import hashlib

import torch
from torch import Tensor

from endotransfer.data.pipeline.to_device import like

__all__ = ["like", "uniform_noise"]


def uniform_noise(keys: list[str], step: int, size: tuple[int, int] | torch.Size) -> Tensor:
    """Maps [B, 1, h, w] of U(-1, 1) on the CPU; each is a function of its image's key, the step and the size alone.

    The global generator differs from process to process: two processes would not equal one, nor a larger batch a
    smaller one.
    """
    maps = [torch.rand(1, *size, generator=torch.Generator().manual_seed(_seed(key, step))) for key in keys]
    return 2 * torch.stack(maps) - 1


def _seed(key: str, step: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{key}/{step}".encode(), digest_size=7).digest())
