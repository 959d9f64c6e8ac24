"""Writing an ONNX graph as one would write a formula: every step returns the name of its result."""

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

INT32, INT64, FLOAT, DOUBLE = TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE


class Steps:
    """Nodes in the order in which they were asked for; `prefix` keeps their names apart from those of others."""

    def __init__(self, prefix: str) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self._prefix = prefix

    def __call__(self, operation: str, *inputs: str, to_name: str | None = None, **attributes: Any) -> str:
        """One node; the name of its output."""
        output = to_name or f"{self._prefix}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [output], **attributes))
        return output

    def number(self, value: float, kind: int = DOUBLE) -> str:
        return self("Constant", value=helper.make_tensor("", kind, [], [value]))

    def whole(self, values: Sequence[int]) -> str:
        """A list of whole numbers: a shape, axes."""
        return self("Constant", value=helper.make_tensor("", INT64, [len(values)], values))

    def cast(self, values: str, kind: int) -> str:
        return self("Cast", values, to=kind)

    def dimension(self, values: str, axis: int) -> str:
        """The length of `values` along `axis`, an int64 without dimensions."""
        return self("Squeeze", self("Shape", values, start=axis, end=axis + 1))
