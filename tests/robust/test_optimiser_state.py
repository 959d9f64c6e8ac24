"""An optimiser that went through a checkpoint takes the very same steps as one that did not."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from endotransfer.engine.checkpoint import load_latest, load_weights_into, save_checkpoint
from endotransfer.engine.optimiser_state import PackedOptimiser, pack_optimiser, unpack_optimiser
from endotransfer.errors import CheckpointError

Maker = Callable[[Any], Optimizer]

OPTIMISERS: dict[str, Maker] = {
    "adam": lambda p: Adam(p, lr=1e-2, weight_decay=0.1),
    "adam amsgrad": lambda p: Adam(p, lr=1e-2, amsgrad=True, betas=(0.5, 0.9)),
    "adam fused": lambda p: Adam(p, lr=1e-2, fused=True),
    "adam with a tensor as rate": lambda p: Adam(p, lr=torch.tensor(1e-2)),
    "adamw": lambda p: AdamW(p, lr=1e-2),
    "sgd": lambda p: SGD(p, lr=1e-2),
    "sgd momentum": lambda p: SGD(p, lr=1e-2, momentum=0.9, weight_decay=1e-3),
    "sgd nesterov": lambda p: SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
}


def network(seed: int = 0, width: int = 4, dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(seed)
    layers = [
        nn.Conv2d(3, width, 3),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(width * 16, 2),
    ]
    return nn.Sequential(*layers).to(dtype)


def groups(net: nn.Sequential) -> list[dict[str, Any]]:
    """Two groups of unlike settings, and one parameter that never has a gradient."""
    net[1].bias.requires_grad_(False)
    return [
        {"params": list(net[0].parameters()), "initial_lr": 1e-2},
        {"params": [*net[1].parameters(), *net[4].parameters()], "weight_decay": 0.05},
    ]


def train(net: nn.Sequential, optimiser: Optimizer, steps: range) -> None:
    for step in steps:
        torch.manual_seed(step)
        optimiser.zero_grad()
        net(torch.randn(3, 3, 6, 6, dtype=next(net.parameters()).dtype)).square().mean().backward()
        optimiser.step()


def assert_same(one: Any, other: Any) -> None:
    """Equal in every bit, type and nesting."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    else:
        assert one == other


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("make", OPTIMISERS.values(), ids=OPTIMISERS.keys())
@pytest.mark.parametrize("steps_before", [0, 3])
def test_further_steps_are_bit_identical(tmp_path: Path, make: Maker, dtype: torch.dtype, steps_before: int) -> None:
    straight = network(dtype=dtype)
    optimiser = make(groups(straight))
    train(straight, optimiser, range(steps_before))
    tensors, state = pack_optimiser(optimiser)
    save_checkpoint(tmp_path, 3, {"weights": straight.state_dict(), "optimiser": tensors}, {"optimiser": state})

    checkpoint, _ = load_latest(tmp_path)
    resumed = network(seed=1, dtype=dtype)
    restored = make(groups(resumed))
    load_weights_into(resumed, checkpoint.tensors["weights"], checkpoint.path)
    unpack_optimiser(restored, checkpoint.tensors["optimiser"], checkpoint.state["optimiser"])
    assert_same(restored.state_dict(), optimiser.state_dict())

    for net, used in ((straight, optimiser), (resumed, restored)):
        train(net, used, range(3, 8))
    assert_same(resumed.state_dict(), straight.state_dict())
    assert_same(restored.state_dict(), optimiser.state_dict())


@pytest.mark.parametrize("make", OPTIMISERS.values(), ids=OPTIMISERS.keys())
def test_moments_lie_in_memory_as_their_weights_do(tmp_path: Path, make: Maker) -> None:
    """A fused step goes through both in the order of memory; a file holds them contiguous."""
    straight = network().to(memory_format=torch.channels_last)
    straight.append(pointwise := nn.Linear(2, 2))
    pointwise.weight.data = pointwise.weight.data.T  # any dense order of the axes
    optimiser = make(straight.parameters())
    train(straight, optimiser, range(3))
    tensors, state = pack_optimiser(optimiser)
    save_checkpoint(tmp_path, 3, {"optimiser": tensors}, {"optimiser": state})

    resumed = copy.deepcopy(straight)
    restored = make(resumed.parameters())
    checkpoint, _ = load_latest(tmp_path)
    unpack_optimiser(restored, checkpoint.tensors["optimiser"], checkpoint.state["optimiser"])
    for mine, theirs in zip(resumed.parameters(), straight.parameters(), strict=True):
        assert mine.stride() == theirs.stride()
        for name, value in optimiser.state[theirs].items():
            found = restored.state[mine][name]
            if isinstance(value, torch.Tensor):
                assert (found.dtype, found.device, found.stride()) == (value.dtype, value.device, value.stride())

    for net, used in ((straight, optimiser), (resumed, restored)):
        train(net, used, range(3, 8))
    assert_same(resumed.state_dict(), straight.state_dict())


def test_further_steps_would_differ_without_the_state() -> None:
    straight = network()
    optimiser = OPTIMISERS["adam"](straight.parameters())
    train(straight, optimiser, range(3))
    fresh = copy.deepcopy(straight)
    for net, used in ((straight, optimiser), (fresh, OPTIMISERS["adam"](fresh.parameters()))):
        train(net, used, range(3, 4))
    assert not torch.equal(next(straight.parameters()), next(fresh.parameters()))


@pytest.fixture
def packed() -> tuple[dict[str, torch.Tensor], PackedOptimiser]:
    net = network()
    optimiser = OPTIMISERS["adam"](groups(net))
    train(net, optimiser, range(2))
    return pack_optimiser(optimiser)


def test_a_packed_state_is_a_snapshot_that_later_steps_leave_alone(packed: Any) -> None:
    before = copy.deepcopy(packed)
    net = network()
    optimiser = OPTIMISERS["adam"](groups(net))
    unpack_optimiser(optimiser, *packed)
    again = pack_optimiser(optimiser)
    train(net, optimiser, range(3))
    assert_same(packed, before)
    assert_same(again, before)


def test_a_wrapped_optimiser_fits_a_bare_one(packed: Any) -> None:
    from lightning.fabric import Fabric

    net = network()
    bare = OPTIMISERS["adam"](groups(net))
    _, wrapped = Fabric(accelerator="cpu", devices=1).setup(net, bare)
    unpack_optimiser(wrapped, *packed)
    assert_same(pack_optimiser(wrapped), pack_optimiser(bare))
    assert_same(pack_optimiser(bare), packed)


@pytest.mark.parametrize(
    "other",
    [
        lambda: OPTIMISERS["adam"](groups(network(width=5))),
        lambda: OPTIMISERS["adam"](network().parameters()),
        lambda: OPTIMISERS["adam"](groups(network())[:1]),
        lambda: OPTIMISERS["sgd momentum"](groups(network())),
        lambda: OPTIMISERS["adamw"](groups(network())),
    ],
    ids=["another shape", "another grouping", "fewer parameters", "another kind", "a similar kind"],
)
def test_another_model_is_refused_and_left_as_it_was(packed: Any, other: Callable[[], Optimizer]) -> None:
    optimiser = other()
    before = copy.deepcopy(optimiser.state_dict())
    with pytest.raises(CheckpointError, match="belongs to another model"):
        unpack_optimiser(optimiser, *packed)
    assert_same(optimiser.state_dict(), before)


@pytest.mark.parametrize("part", ["a tensor", "state", "param_groups", "everything"])
def test_an_incomplete_state_is_refused(packed: Any, part: str) -> None:
    tensors, state = packed
    if part == "a tensor":
        del tensors["state.0.exp_avg"]
    elif part == "everything":
        state.clear()
    else:
        del state[part]
    with pytest.raises(CheckpointError, match=r"incomplete|another model"):
        unpack_optimiser(OPTIMISERS["adam"](groups(network())), tensors, state)


def test_a_setting_that_json_cannot_hold_is_refused() -> None:
    optimiser = OPTIMISERS["sgd"](network().parameters())
    optimiser.param_groups[0]["note"] = {"a": 1}
    with pytest.raises(CheckpointError, match=r"'group.0.note' is a dict"):
        pack_optimiser(optimiser)
