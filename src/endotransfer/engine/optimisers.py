"""One optimiser for each phase: the method's own where it has one, else the experiment's."""

import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from endotransfer.config import TrainingConfig
from endotransfer.methods.base import Method
from endotransfer.models.backbones.families import settled_training


def build_optimisers(method: Method, phases: set[str], training: TrainingConfig) -> dict[str, Optimizer]:
    optimisers = {}
    for phase in sorted(phases):
        optimiser = method.optimiser(phase) or shared_optimiser(method, phase, training)
        for group in optimiser.param_groups:
            group["initial_lr"] = group["lr"]
        _fuse_on_a_gpu(optimiser)
        optimisers[phase] = optimiser
    return optimisers


def shared_optimiser(method: Method, phase: str, training: TrainingConfig) -> Optimizer:
    """The experiment's optimiser over the phase's networks, backbone and the rest in groups of their own."""
    training = settled_training(training, method.task.model.backbone)
    assert training.lr is not None and training.weight_decay is not None
    groups: dict[float, list[nn.Parameter]] = {}
    own = method.head_lr_factor()
    factor = training.head_lr_factor if own is None else own
    for name in method.phases[phase]:
        for path, parameter in method.get_submodule(name).named_parameters():
            lr = training.lr if "backbone" in path else training.lr * factor
            groups.setdefault(lr, []).append(parameter)
    parameters = [{"params": members, "lr": lr} for lr, members in groups.items()]
    fused = all(member.is_cuda for members in groups.values() for member in members)
    match training.optimiser:
        case "adam":
            return Adam(parameters, weight_decay=training.weight_decay, fused=fused)
        case "adamw":
            return AdamW(parameters, weight_decay=training.weight_decay, fused=fused)
        case _:
            return SGD(parameters, momentum=training.momentum, weight_decay=training.weight_decay, fused=fused)


def _fuse_on_a_gpu(optimiser: Optimizer) -> None:
    """One kernel for all weights, as the shared optimiser has it, for a method's own Adam that asked for nothing."""
    groups = optimiser.param_groups
    asked = any(group.get("fused") is not None or group.get("foreach") is not None for group in groups)
    if not asked and isinstance(optimiser, Adam) and all(one.is_cuda for group in groups for one in group["params"]):
        for settings in (optimiser.defaults, *groups):  # pragma: needs cuda
            settings["fused"] = True


def set_lr(optimiser: Optimizer, factor: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = group["initial_lr"] * factor


def parameters_of(optimiser: Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]
