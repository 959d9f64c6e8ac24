"""A promptable network in miniature: graphs of the shapes of SAM 2 whose answers one can work out by hand.

Its three masks are what is brighter in red than 124, what is not, and everything; it rates them in this order.  The
mask that it is asked to refine is added to each.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RATINGS = (0.6, 0.5, 0.4)
DECODER_SHAPES: dict[str, list[int | str]] = {
    "image_embed": [1, 256, 64, 64],
    "high_res_feats_0": [1, 32, 256, 256],
    "high_res_feats_1": [1, 64, 128, 128],
    "point_coords": [1, "points", 2],
    "point_labels": [1, "points"],
    "mask_input": [1, 1, 256, 256],
    "has_mask_input": [1],
}


def encoder(outputs: tuple[str, ...] = ("image_embed", "high_res_feats_0", "high_res_feats_1")) -> bytes:
    """Means over squares of the image; the first three channels are red, its opposite and one."""
    nodes, constants = [], []
    for name, step, channels in zip(outputs, (16, 4, 8), (256, 32, 64), strict=True):
        weights, bias = np.zeros((channels, 3, 1, 1), np.float32), np.zeros(channels, np.float32)
        weights[0, 0], weights[1, 0], bias[2] = 1, -1, 1
        constants += [numpy_helper.from_array(weights, f"{name} w"), numpy_helper.from_array(bias, f"{name} b")]
        sides = [step, step]
        nodes += [
            helper.make_node("AveragePool", ["image"], [f"{name} mean"], kernel_shape=sides, strides=sides),
            helper.make_node("Conv", [f"{name} mean", f"{name} w", f"{name} b"], [name]),
        ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 1024, 1024])
    return _bytes(nodes, [image], list(outputs), constants)


def decoder(masks: int = 3, scale: float = 1.0) -> bytes:
    values = {
        "start": np.array([0]), "end": np.array([masks]), "axis": np.array([1]), "scale": np.array([scale], np.float32),
        "ratings": np.array([RATINGS], np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Slice", ["high_res_feats_0", "start", "end", "axis"], ["own"]),
        helper.make_node("Mul", ["mask_input", "has_mask_input"], ["before"]),
        helper.make_node("Add", ["own", "before"], ["sum"]),
        helper.make_node("Mul", ["sum", "scale"], ["masks"]),
        helper.make_node("Identity", ["ratings"], ["iou_predictions"]),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in DECODER_SHAPES.items()]
    constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
    return _bytes(nodes, inputs, ["masks", "iou_predictions"], constants)


def write_prompt_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "tiny-encoder.onnx").write_bytes(encoder())
    (folder / "tiny-decoder.onnx").write_bytes(decoder())
    return folder


def _bytes(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[str],
    constants: list[onnx.TensorProto],
) -> bytes:  # fmt: skip
    found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "tiny", inputs, found, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
