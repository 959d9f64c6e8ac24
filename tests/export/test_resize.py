"""The resize inside the graph is the one that training uses: the same grey values, whatever the size."""

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import PIL
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from endotransfer.data.pipeline.working_size import resize_image
from endotransfer.export.resize import resize_nodes
from tests.properties import examples

SIZE = (24, 32)
Resize = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def resize() -> Resize:
    images = helper.make_tensor_value_info("images", TensorProto.UINT8, ["b", "h", "w", 3])
    out = helper.make_tensor_value_info("out", TensorProto.INT32, ["b", *SIZE, 3])
    graph = helper.make_graph(resize_nodes("images", SIZE, "out"), "resize", [images], [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda batch: session.run(None, {"images": batch})[0]


@examples(60)
@given(height=st.integers(1, 150), width=st.integers(1, 150), seed=st.integers(0, 99))
def test_it_gives_the_grey_values_that_training_sees(resize: Resize, height: int, width: int, seed: int) -> None:
    batch = np.random.default_rng(seed).integers(0, 256, (2, height, width, 3), dtype=np.uint8)
    ours, theirs = resize(batch), np.stack([resize_image(image, SIZE) for image in batch])
    # Earlier versions of Pillow always begin with the width.
    tall = height > SIZE[0] and height - SIZE[0] > 2 * (width - SIZE[1])
    allowed = 1 if tall and int(PIL.__version__.split(".")[0]) < 13 else 0
    assert np.abs(ours - theirs.astype(int)).max() <= allowed


def test_white_stays_white_and_an_image_of_the_right_size_stays_itself(resize: Resize) -> None:
    assert (resize(np.full((1, 700, 900, 3), 255, np.uint8)) == 255).all()
    image = np.random.default_rng(0).integers(0, 256, (1, *SIZE, 3), dtype=np.uint8)
    np.testing.assert_array_equal(resize(image), image)
