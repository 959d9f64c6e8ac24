"""A graph that shares the folder's weights: the same predictions, nothing stored twice, nothing opened unchecked."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image

import endotransfer
from endotransfer.errors import CheckpointError
from endotransfer.predict.load import load
from endotransfer.predict.onnx_predictor import OnnxPredictor
from tests.model_folders import rewrite_config, write_model


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("slim")
    return endotransfer.push_model(write_model(root / "model"), root / "hub", half=True, graph=True)


@pytest.fixture
def copied(published: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in published.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def image(seed: int = 0) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    return np.random.default_rng(seed).integers(0, 256, (60, 80, 3), np.uint8)


def test_it_predicts_what_torch_predicts_from_the_same_weights(published: Path) -> None:
    ours, theirs = load(published), load(published, backend="torch")
    assert isinstance(ours, OnnxPredictor)
    for seed in range(3):
        found, wanted = (one.predict(image(seed)) for one in (ours, theirs))
        np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-4)
        assert found.lesion_probability == pytest.approx(wanted.lesion_probability, abs=1e-4)


def test_the_graph_holds_next_to_no_weights(published: Path) -> None:
    graph = onnx.load(published / "model.onnx", load_external_data=False).graph
    inside = sum(np.prod(one.dims) for one in graph.initializer if not one.external_data)
    outside = sum(np.prod(one.dims) for one in graph.initializer if one.external_data)
    assert outside > 20 * inside


def test_a_plain_runtime_opens_it_from_its_path(published: Path) -> None:
    """As the standard has it: offset and length within the file beside it."""
    session = onnxruntime.InferenceSession(str(published / "model.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(["probabilities"], {"images": image()[None]})[0]
    np.testing.assert_allclose(found[0], load(published).predict(image()).probabilities, atol=1e-6)


def other_weights(folder: Path) -> None:
    path = folder / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def other_file(folder: Path) -> None:
    """A graph that reads another file of the machine, sealed again by whoever changed it."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    next(one for one in model.graph.initializer if one.external_data).name = "secret"
    reseal(folder, model.SerializeToString())


def inside_a_node(folder: Path) -> None:
    """The name is one that the weights have, but the tensor is a constant, which nobody supplies."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    first = next(one for one in model.graph.initializer if one.external_data)
    model.graph.node.append(onnx.helper.make_node("Constant", [], ["c"], value=first))
    reseal(folder, model.SerializeToString())


def reseal(folder: Path, content: bytes) -> None:
    import hashlib

    (folder / "model.onnx").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    rewrite_config(folder, lambda raw: raw | {"onnx": raw["onnx"] | {"sha256": digest}})


def elsewhere(folder: Path) -> None:
    rewrite_config(folder, lambda raw: raw | {"onnx": raw["onnx"] | {"weights": "../weights.safetensors"}})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_weights, "its checksum differs"),
        (other_file, "asks for other files"),
        (inside_a_node, "asks for other files"),
        (elsewhere, "is damaged"),
        (lambda folder: (folder / "weights.safetensors").unlink(), "there is no"),
    ],
)
def test_what_was_changed_is_refused(copied: Path, change: Callable[[Path], None], words: str) -> None:
    change(copied)
    with pytest.raises(CheckpointError, match=words):
        load(copied)


def test_predicting_with_it_imports_no_torch(published: Path, tmp_path: Path) -> None:
    """That is why a first prediction takes a second and not five."""
    Image.fromarray(image()).save(tmp_path / "a.png")
    code = (
        "import sys; from endotransfer.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not {'torch', 'timm', 'torchvision', 'matplotlib'} & {*sys.modules}, sorted(sys.modules)\n"
    )
    command = [sys.executable, "-c", code, "predict", str(published), str(tmp_path / "a.png"), "--out", "out"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "out" / "masks" / "a.png").is_file()
