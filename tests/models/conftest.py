"""Tiny inputs, tiny settings, and the folder of real weights where there is one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from endotransfer.config import ModelConfig

TINY: dict[str, Any] = {
    "backbone": "test_resnet",
    "pretrained": False,
    "norm": "group",
    "multi_grid": None,
    "aspp_rates": (1, 2, 3),
    "aspp_channels": 16,
    "dropout": 0.0,
}


@pytest.fixture
def tiny() -> Callable[..., ModelConfig]:
    """`tiny(norm="batch")`: the settings of a network small enough to run in a test."""
    return lambda **changes: ModelConfig(**(TINY | changes))


@pytest.fixture
def images() -> Tensor:
    return torch.rand(4, 3, 48, 48, generator=torch.Generator().manual_seed(3))


@pytest.fixture
def shake() -> Callable[[nn.Module], None]:
    """Give every BatchNorm random scale, shift and statistics, so that none of them is idle."""

    def randomise(module: nn.Module) -> None:
        generator = torch.Generator().manual_seed(5)
        for layer in module.modules():
            if isinstance(layer, nn.BatchNorm2d):
                assert layer.running_mean is not None and layer.running_var is not None
                for tensor in (layer.weight, layer.running_var):
                    tensor.data.copy_(0.5 + torch.rand(tensor.shape, generator=generator))
                for tensor in (layer.bias, layer.running_mean):
                    tensor.data.copy_(0.1 * torch.randn(tensor.shape, generator=generator))

    return randomise
