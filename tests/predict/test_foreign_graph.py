"""ONNX graphs of somebody else's: no other file is opened for them, and what they do wrong is one sentence."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from endotransfer.errors import CheckpointError
from endotransfer.predict import graph_session, onnx_predictor
from endotransfer.predict.external_data import external_tensors
from endotransfer.predict.network_graph import FACTS, GRAPH, NetworkGraph
from endotransfer.predict.onnx_predictor import OnnxPredictor
from endotransfer.sealed_json import sealed

IMAGE = np.zeros((4, 5, 3), np.uint8)


def graph(
    value: float = 0.5, shape: tuple[int, ...] = (1, 2, 4, 5), output: str = "probabilities", asked: str = "images",
) -> onnx.ModelProto:  # fmt: skip
    """Gives `value` at every pixel, whatever it is shown."""
    constant = numpy_helper.from_array(np.full(shape, value, np.float32), "constant")
    nodes = [
        helper.make_node("Cast", [asked], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["floats"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
        helper.make_node("Add", ["constant", "nothing"], [output]),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    kind = TensorProto.UINT8 if asked == "images" else TensorProto.FLOAT
    images = helper.make_tensor_value_info(asked, kind, [1, None, None, None])
    found = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    made = helper.make_graph(nodes, "g", [images], [found], [constant, zero])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def bundle(folder: Path, content: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(content)
    facts = {"size": None, "sha256": hashlib.sha256(content).hexdigest()}
    (folder / "config.json").write_text(sealed({"classes": ["normal", "lesion"], "onnx": facts}))
    return folder


def with_external_data(location: str) -> bytes:
    model = graph()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    return bytes(model.SerializeToString())


def test_a_sound_graph_predicts(tmp_path: Path) -> None:
    found = OnnxPredictor(bundle(tmp_path, graph().SerializeToString())).predict(IMAGE)
    assert found.probabilities.shape == (2, 4, 5)


def test_no_other_file_is_opened_for_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_bytes(bytes(160))
    with pytest.raises(CheckpointError, match="asks for other files"):
        OnnxPredictor(bundle(tmp_path / "bundle", with_external_data("secret")))


def test_external_data_is_found_wherever_a_graph_may_have_it() -> None:
    inner = graph()
    inner.graph.initializer[0].external_data.add().key = "location"
    outer = graph()
    outer.graph.node[0].attribute.append(helper.make_attribute("body", inner.graph))
    assert external_tensors(outer.SerializeToString()) == [""]  # no weight of the graph's own: nobody can supply it
    of_constant = graph()
    tensor = numpy_helper.from_array(np.zeros(2, np.float32))
    tensor.data_location = TensorProto.EXTERNAL
    of_constant.graph.node.append(helper.make_node("Constant", [], ["c"], value=tensor))
    assert external_tensors(of_constant.SerializeToString()) == [""]
    assert external_tensors(inner.SerializeToString()) == [inner.graph.initializer[0].name]
    assert not external_tensors(graph().SerializeToString())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no graph at all", "cannot use"),
        (graph(float("nan")).SerializeToString(), "not finite"),
        (graph(shape=(1, 3, 4, 5)).SerializeToString(), "shape"),
        (graph(output="other").SerializeToString(), "probabilities"),
        (graph().SerializeToString()[:-9], "cannot use"),
    ],
    ids=["text", "nan", "shape", "output", "cut"],
)
def test_a_graph_that_cannot_be_used_is_one_sentence(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=words) as caught:
        OnnxPredictor(bundle(tmp_path, content)).predict(IMAGE)
    assert "\n" not in str(caught.value)


def test_the_graph_that_was_checked_is_the_one_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is exchanged behind the check is not opened."""
    folder, read = bundle(tmp_path, graph(0.25).SerializeToString()), graph_session.read_graph

    def read_then_swap(path: Path, fix: str) -> bytes:
        content = read(path, fix)
        path.write_bytes(graph(0.75).SerializeToString())
        return content

    monkeypatch.setattr(onnx_predictor, "read_graph", read_then_swap)
    assert OnnxPredictor(folder).predict(IMAGE).probabilities.max() == 0.25


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"value": np.nan}, "not finite"),
        ({"value": np.inf}, "not finite"),
        ({"shape": (1, 3, 4, 5)}, "no logits of 2 classes"),
        ({"shape": (2, 4)}, "no logits of 2 classes"),
        ({"output": "something"}, "no logits of 2 classes"),
        ({"asked": "images"}, "cannot use"),
    ],
)
def test_a_cached_graph_that_says_nothing_of_use_is_one_sentence(
    made: dict[str, Any], words: str, tmp_path: Path
) -> None:
    content = graph(**{"output": "logits", "asked": "network_input", **made}).SerializeToString()
    facts = {"classes": ["normal", "lesion"], "size": [4, 5], "sha256": hashlib.sha256(content).hexdigest()}
    (tmp_path / GRAPH).write_bytes(content)
    (tmp_path / FACTS).write_text(sealed(facts))
    for ask in (NetworkGraph(tmp_path).predict, lambda image: NetworkGraph(tmp_path).mark_batch([image])):
        with pytest.raises(CheckpointError, match=words) as caught:
            ask(IMAGE)
        assert "\n" not in str(caught.value)
