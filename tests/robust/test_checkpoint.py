"""What is saved comes back exactly: tensors, state, any name; and weights fit their own network only."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from endotransfer.engine.checkpoint import (
    list_steps,
    load_checkpoint,
    load_weights_into,
    save_checkpoint,
)
from endotransfer.engine.checkpoint.names import from_stored, group_file, to_stored
from endotransfer.errors import CheckpointError

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=12)


def assert_same(found: dict[str, dict[str, Tensor]], expected: dict[str, dict[str, Tensor]]) -> None:
    assert found.keys() == expected.keys()
    for group, tensors in expected.items():
        assert found[group].keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert found[group][name].dtype == tensor.dtype
            assert found[group][name].shape == tensor.shape
            assert torch.equal(found[group][name], tensor), name


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


# --- round trip


def odd_tensors() -> dict[str, Tensor]:
    shared = torch.randn(6)
    return {
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "bf16": torch.randn(7).bfloat16(),
        "half": torch.randn(2).half(),
        "double": torch.randn(2, dtype=torch.float64),
        "long": torch.tensor([2**62, -1]),
        "byte": torch.tensor([255, 0], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "shared": shared,
        "same again": shared,
        "a view": shared[2:4],
        "transposed": torch.randn(2, 5).T,
        "channels last": torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last),
        "expanded": torch.ones(1, 3).expand(4, 3),
        "conjugate": torch.tensor([1 + 2j], dtype=torch.complex64).conj(),
        "parameter": nn.Parameter(torch.randn(3)),
    }


def test_odd_tensors_come_back_exactly(tmp_path: Path) -> None:
    tensors = {"weights": odd_tensors(), "nothing": {}}
    path = save_checkpoint(tmp_path / "deep" / "folder", 0, tensors, {})
    assert_same(load_checkpoint(path).tensors, tensors)


def test_special_numbers_keep_their_bits(tmp_path: Path) -> None:
    bits = torch.tensor([0x7FC01234, 0x7F800000, -(2**31)], dtype=torch.int32)  # NaN, infinity, -0
    path = save_checkpoint(tmp_path, 0, {"g": {"x": bits.view(torch.float32)}}, {})
    assert torch.equal(load_checkpoint(path).tensors["g"]["x"].view(torch.int32), bits)


def test_loaded_tensors_are_writable_and_apart_from_each_other(tmp_path: Path) -> None:
    both = torch.zeros(3)
    tensors = load_checkpoint(save_checkpoint(tmp_path, 0, {"g": {"a": both, "b": both}}, {})).tensors["g"]
    tensors["a"].add_(1)
    assert tensors["b"].sum() == 0


def test_state_comes_back_exactly(tmp_path: Path) -> None:
    state = {
        "epoch": 3,
        "lr": 0.1 + 0.2,
        "tiny": 5e-324,
        "big": 2**80,
        "name": "\ud800é\0",
        "none": None,
        "": [{}, True],
    }
    assert load_checkpoint(save_checkpoint(tmp_path, 1, {}, state)).state == state


@pytest.mark.parametrize(
    "state",
    [{"a": (1, 2)}, {1: "a"}, {"a": float("nan")}, {"a": torch.ones(1)}, {"a": b"raw"}, {"a": {1, 2}}],
)
def test_state_that_json_would_bend_is_refused(tmp_path: Path, state: dict[Any, Any]) -> None:
    with pytest.raises(CheckpointError, match="JSON"):
        save_checkpoint(tmp_path, 1, {}, state)
    assert list_steps(tmp_path) == [] and hidden(tmp_path) == []


@pytest.mark.parametrize(
    "tensor",
    [torch.eye(2).to_sparse(), torch.ones(1, dtype=torch.complex128), torch.empty(1, device="meta"), "text"],
    ids=["sparse", "complex128", "meta", "text"],
)
def test_a_tensor_that_cannot_be_stored_is_refused(tmp_path: Path, tensor: Any) -> None:
    save_checkpoint(tmp_path, 1, {}, {})
    with pytest.raises(CheckpointError, match="the tensors 'odd' cannot be saved"):
        save_checkpoint(tmp_path, 2, {"odd": {"x": tensor}}, {})
    assert list_steps(tmp_path) == [1] and hidden(tmp_path) == []


# --- names


@given(ANY_TEXT)
@example("__metadata__")
@example("=__metadata__")
@example("\ud800")
@example("")
def test_stored_names_are_utf8_unreserved_and_reversible(name: str) -> None:
    stored = to_stored(name)
    assert from_stored(stored) == name and stored != "__metadata__"
    stored.encode()  # does not raise


@given(ANY_TEXT, ANY_TEXT)
@example("a" * 500, "A")
@example("../../etc/passwd", "group.x")
def test_group_files_stay_in_the_folder_and_apart(one: str, other: str) -> None:
    assert Path(group_file(one)).name == group_file(one) and len(group_file(one)) < 100
    assert (group_file(one).lower() == group_file(other).lower()) == (one == other)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(ANY_TEXT, st.dictionaries(ANY_TEXT, st.integers(0, 9), max_size=3), max_size=3))
@example(
    {
        "__metadata__": {"__metadata__": 1, "=": 2, "": 3},
        "manifest": {"\ud800/..": 4},
        "State": {},
        "state": {},
    }
)
def test_any_group_and_tensor_name_comes_back(numbers: dict[str, dict[str, int]]) -> None:
    tensors = {g: {name: torch.tensor(number) for name, number in named.items()} for g, named in numbers.items()}
    with tempfile.TemporaryDirectory() as folder:
        assert_same(load_checkpoint(save_checkpoint(Path(folder), 1, tensors, {})).tensors, tensors)


# --- weights into a network


def network(width: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width))


def test_weights_go_into_a_network_exactly() -> None:
    source, target = network(), network()
    source(torch.randn(2, 3, 8, 8))
    load_weights_into(target, source.state_dict(), Path("run"))
    assert_same({"": dict(target.state_dict())}, {"": dict(source.state_dict())})
    nn.init.zeros_(next(source.parameters()))
    assert next(target.parameters()).abs().sum() > 0


def test_weights_of_another_shape_name_the_first_few_and_change_nothing() -> None:
    module = network()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    with pytest.raises(CheckpointError) as caught:
        load_weights_into(module, network(5).state_dict(), Path("the/run"))
    text = str(caught.value)
    assert text.startswith("the/run belongs to another model: '0.bias' has shape [5] instead of [4], '0.weight'")
    assert "and 3 more" in text and "1.running_var" not in text
    assert_same({"": dict(module.state_dict())}, {"": before})


def test_missing_and_unknown_weights_are_named() -> None:
    tensors = network().state_dict()
    tensors["0.scale"] = tensors.pop("0.bias")
    with pytest.raises(CheckpointError, match=r"'0.bias' is missing, '0.scale' is unknown;"):
        load_weights_into(network(), tensors, Path("run"))
