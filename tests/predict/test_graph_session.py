"""Graphs in ONNX Runtime: what goes wrong is one sentence that says what to do."""

from pathlib import Path

import numpy as np
import pytest

from endotransfer.errors import CheckpointError
from endotransfer.predict.graph_session import open_graph, read_graph, run_graph
from tests.predict.test_foreign_graph import graph, with_external_data

FIX = "choose another"
PATH = Path("model.onnx")


def test_a_graph_answers_with_all_its_outputs() -> None:
    session = open_graph(PATH, graph(0.25).SerializeToString(), FIX, threads=1)
    (found,) = run_graph(session, PATH, {"images": np.zeros((1, 4, 5, 3), np.uint8)}, FIX)
    assert found.tolist() == np.full((1, 2, 4, 5), 0.25).tolist()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"there is no .*nothing\.onnx; choose another\."):
        read_graph(tmp_path / "nothing.onnx", FIX)


@pytest.mark.parametrize(
    ("content", "words"), [(b"text", "cannot use"), (with_external_data("secret"), "asks for other files")]
)
def test_what_cannot_be_opened(content: bytes, words: str) -> None:
    with pytest.raises(CheckpointError, match=words) as caught:
        open_graph(PATH, content, FIX)
    assert str(caught.value).endswith("choose another.")


def test_what_cannot_be_run() -> None:
    session = open_graph(PATH, graph().SerializeToString(), FIX, threads=1)
    with pytest.raises(CheckpointError, match=r"cannot use model\.onnx") as caught:
        run_graph(session, PATH, {"images": np.zeros((1, 4), np.uint8)}, FIX)
    assert "\n" not in str(caught.value)
