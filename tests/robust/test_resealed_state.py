"""A checkpoint whose state was changed and sealed again: refused in one sentence, never a failure at a later step."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer

from endotransfer.engine.checkpoint import Checkpoint
from endotransfer.engine.optimiser_state import pack_optimiser, unpack_optimiser
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.training_state import restore_training
from endotransfer.errors import CheckpointError, EndotransferError

MAKERS: dict[str, Callable[[nn.Module], Optimizer]] = {
    "adam": lambda net: Adam(net.parameters(), lr=0.1),
    "sgd": lambda net: SGD(net.parameters(), lr=0.1, momentum=0.9),
}


def stepped(make: Callable[[nn.Module], Optimizer]) -> tuple[nn.Module, Optimizer]:
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimiser = make(net)
    net(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    return net, optimiser


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a nested JSON value."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, value in inside for place in places(value, (*path, key)))]


def changed(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    copied = json.loads(json.dumps(tree))
    if not place:
        return value
    here = copied
    for key in place[:-1]:
        here = here[key]
    if value == "removed":
        del here[place[-1]]
    else:
        here[place[-1]] = value
    return copied


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("value", ["removed", None, "text", -1, [], {}, {"tensor": "none"}, {"tuple": 3}, True])
def test_whatever_is_changed_the_optimiser_refuses_or_goes_on(kind: str, value: Any) -> None:
    net, optimiser = stepped(MAKERS[kind])
    tensors, packed = pack_optimiser(optimiser)
    for place in places(packed):
        fresh = MAKERS[kind](net)
        try:
            unpack_optimiser(fresh, tensors, changed(packed, place, value))
        except CheckpointError as refused:
            assert "\n" not in str(refused)
            continue
        fresh.step()  # what was taken must carry a step


def test_tensors_of_other_shapes_or_without_numbers_are_refused() -> None:
    net, optimiser = stepped(MAKERS["adam"])
    tensors, packed = pack_optimiser(optimiser)
    for name in tensors:
        for bad in (torch.zeros(7), torch.full_like(tensors[name], torch.nan)):
            with pytest.raises(CheckpointError, match="malformed"):
                unpack_optimiser(MAKERS["adam"](net), {**tensors, name: bad}, packed)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, state: tensors.clear(),
        lambda tensors, state: state.pop("optimisers"),
        lambda tensors, state: state.update(optimisers=[1]),
        lambda tensors, state: state.update(step=4),
        lambda tensors, state: state.update(step="3"),
        lambda tensors, state: state["optimisers"].clear(),
        lambda tensors, state: tensors["weights"]["bias"].fill_(torch.inf),
    ],
)
def test_a_state_that_lacks_something_is_one_sentence(change: Callable[[Any, Any], object], tmp_path: Path) -> None:
    net, optimiser = stepped(MAKERS["adam"])
    packed_tensors, packed = pack_optimiser(optimiser)
    tensors = copy.deepcopy({"weights": dict(net.state_dict()), "optimiser-net": packed_tensors})
    state: dict[str, Any] = {"step": 3, "steps": 9, "data": "d", "optimisers": {"net": packed}}
    change(tensors, state)
    checkpoint = Checkpoint(3, tensors, state, tmp_path)
    with pytest.raises(EndotransferError) as caught:
        method: Any = net  # as far as is needed here
        restore_training(checkpoint, RunFolder(tmp_path), method, {"net": MAKERS["adam"](net)}, steps=9, data="d")
    assert "\n" not in str(caught.value)
