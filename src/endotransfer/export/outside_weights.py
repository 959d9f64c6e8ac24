"""A graph whose weights lie in the model folder's own weights.safetensors, so that they are stored once.

In the graph stay names, shapes and places within that file, as ONNX's "external data" has it; where the file holds
float16 a Cast follows.  ONNX Runtime opens such a graph from its path; our predictor hands it weights it has checked.
"""

import json
from collections.abc import Mapping

import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from endotransfer.predict.onnx_predictor import OUTSIDE, WEIGHTS

PREFIX = "module."  # of the network within what is exported (network.Plain)
FEWEST = 64  # values of a tensor that is worth it
_KINDS = {"F16": TensorProto.FLOAT16, "F32": TensorProto.FLOAT}


def weights_outside(model: onnx.ModelProto, content: bytes, weights: Mapping[str, Tensor]) -> onnx.ModelProto:
    """`model` without the tensors that `content`, a safetensors file holding `weights`, has too."""
    begin = 8 + int.from_bytes(content[:8], "little")
    places = json.loads(content[8:begin])
    graph, kept, casts = model.graph, [], []
    for tensor in graph.initializer:
        name = tensor.name.removeprefix(PREFIX)
        if not _is_same(tensor, weights.get(name)):
            kept.append(tensor)
            continue
        first, last = places[name]["data_offsets"]
        kept.append(_outside(tensor, name, _KINDS[places[name]["dtype"]], begin + first, last - first))
        casts.append(helper.make_node("Cast", [kept[-1].name], [tensor.name], to=tensor.data_type))
    nodes = [*casts, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    for node in graph.node:  # where in torch's sources each came from: more bytes than all the rest
        del node.metadata_props[:]
        node.doc_string = ""
    del graph.value_info[:]
    return model


def _is_same(tensor: TensorProto, weight: Tensor | None) -> bool:
    if weight is None or tensor.data_type != TensorProto.FLOAT or weight.numel() < FEWEST:
        return False
    ours = numpy_helper.to_array(tensor)
    return ours.shape == tuple(weight.shape) and bool((ours == weight.float().numpy()).all())


def _outside(tensor: TensorProto, name: str, kind: int, offset: int, length: int) -> TensorProto:
    found = TensorProto(name=f"{OUTSIDE}{name}", data_type=kind, dims=tensor.dims)
    found.data_location = TensorProto.EXTERNAL
    for key, value in (("location", WEIGHTS), ("offset", str(offset)), ("length", str(length))):
        found.external_data.add(key=key, value=value)
    return found
