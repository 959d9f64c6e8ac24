"""What stands around the network in the exported graph: resizing and colours before it, probabilities behind it.

images uint8 [batch, height, width, 3], RGB
  -> resized to the network's size as Pillow's BILINEAR does it (resize.py)
  -> divided by 255; mean and deviation of the colours are the network's own first step
  -> the network
  -> probabilities float32 [batch, classes, height, width]: logits up-sampled (bilinear, corners not aligned)
     to the image's own size, then softmax
  -> lesion_probability float32 [batch], where the network has S1
  -> features float32 [batch, C], where the model can tell by them what is unlike its training images
"""

from collections.abc import Sequence

import onnx
from onnx import TensorProto, helper

from endotransfer.export.network import FEATURES, INPUT, LOGITS, TAG_LOGITS
from endotransfer.export.resize import resize_nodes
from endotransfer.export.steps import FLOAT, INT64, Steps

IMAGES, PROBABILITIES, LESION_PROBABILITY = "images", "probabilities", "lesion_probability"
RESIZE = "Pillow BILINEAR: half-pixel centres, a triangle as wide as the scale where it shrinks, rounded to 8 bits"


def wrap(
    network: onnx.ModelProto,
    shape: tuple[int, int],
    classes: Sequence[str],
    size: tuple[int, int] | None,
    facts: dict[str, str],
) -> onnx.ModelProto:
    """The whole graph.  `size` = (H, W) of the images it takes, or None for any; `facts` go into its metadata."""
    graph = network.graph
    height, width = size or ("height", "width")
    images = helper.make_tensor_value_info(IMAGES, TensorProto.UINT8, ["batch", height, width, 3])
    outputs = [helper.make_tensor_value_info(PROBABILITIES, FLOAT, ["batch", len(classes), height, width])]
    nodes = [*_before(shape), *graph.node, *_behind(len(classes))]
    if any(output.name == TAG_LOGITS for output in graph.output):
        outputs.append(helper.make_tensor_value_info(LESION_PROBABILITY, FLOAT, ["batch"]))
        nodes += _tag_nodes()
    outputs += [output for output in graph.output if output.name == FEATURES]
    whole = helper.make_graph(nodes, "endotransfer", [images], outputs, graph.initializer)
    model = helper.make_model(
        whole,
        opset_imports=network.opset_import,
        functions=network.functions,
        ir_version=network.ir_version,
        producer_name="endotransfer",
    )
    helper.set_model_props(model, facts)
    onnx.checker.check_model(model)
    return model


def _before(shape: tuple[int, int]) -> list[onnx.NodeProto]:
    put = Steps("before_")
    planes = put("Transpose", put.cast("resized", FLOAT), perm=[0, 3, 1, 2])
    put("Div", planes, put.number(255.0, FLOAT), to_name=INPUT)
    return [*resize_nodes(IMAGES, shape, "resized"), *put.nodes]


def _behind(classes: int) -> list[onnx.NodeProto]:
    """Up-sampling and softmax.  ONNX Runtime's own softmax over the class axis is three times slower."""
    put = Steps("behind_")
    if classes == 2:  # softmax of two is the logistic function of their difference: one map is up-sampled, not two
        first, second = (put("Gather", LOGITS, put.whole([index]), axis=1) for index in (0, 1))
        lesion = put("Sigmoid", _upsampled(put, put("Sub", second, first)))
        put("Concat", put("Sub", put.number(1.0, FLOAT), lesion), lesion, to_name=PROBABILITIES, axis=1)
        return put.nodes
    logits, axis = _upsampled(put, LOGITS), put.whole([1])
    exponentials = put("Exp", put("Sub", logits, put("ReduceMax", logits, axis, keepdims=1)))
    put("Div", exponentials, put("ReduceSum", exponentials, axis, keepdims=1), to_name=PROBABILITIES)
    return put.nodes


def _upsampled(put: Steps, values: str) -> str:
    """[B, N, h, w] at the height and width of the images."""
    size = put("Shape", IMAGES, start=1, end=3)
    centres = "half_pixel"
    return put("Resize", values, "", "", size, mode="linear", coordinate_transformation_mode=centres, axes=[2, 3])


def _tag_nodes() -> list[onnx.NodeProto]:
    put = Steps("tag_")
    put("Gather", put("Softmax", TAG_LOGITS, axis=1), put.number(1, INT64), to_name=LESION_PROBABILITY, axis=1)
    return put.nodes
