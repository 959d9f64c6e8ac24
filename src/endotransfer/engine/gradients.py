"""Gradients between backward and update: averaged over processes, clipped, and never followed when not finite."""

import math

import torch
import torch.distributed as dist
from torch import Tensor

from endotransfer.distributed import world_size


def average_over_processes(parameters: list[Tensor]) -> None:
    """Replace every gradient by its mean over all processes, in one all-reduce of one flat buffer.

    A parameter that got no gradient here may have got one elsewhere, so it takes part as zero.
    """
    if world_size() == 1:
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat)
    flat /= world_size()
    for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def clipped_norm(parameters: list[Tensor], largest: float | None) -> Tensor:
    """The norm of all gradients together; they are scaled down to `largest` where they exceed it."""
    return torch.nn.utils.clip_grad_norm_(parameters, math.inf if largest is None else largest)
