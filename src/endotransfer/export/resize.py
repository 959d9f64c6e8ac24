"""Pillow's BILINEAR resize as ONNX nodes, to the last grey value, for images of any size.

ONNX's own Resize is the same filter with other rounding: one value in some thousand comes out one grey value off, and
in tall images one in four, which is enough to move a sensitive network by more than a per mille.  So the filter is
written out as Pillow computes it:

    scale = in / out, reach = max(scale, 1), centre_i = (i + 1/2) scale
    output i sees inputs x from max(0, trunc(centre_i - reach + 1/2)) to min(in, trunc(centre_i + reach + 1/2)) - 1
    weight_ix = max(0, 1 - |x + 1/2 - centre_i| / reach), divided by its sum over x
    value_i = (sum_x pixel_x round(2^22 weight_ix) + 2^21) >> 22

once along each axis: the width first, unless the height loses more than twice as many pixels (as from Pillow 13 on).
A 22-bit weight times an 8-bit pixel does not fit the 24 bits of a float32, so each weight is cut into two of 11 bits;
their sums are exact and are put together as integers.
"""

import onnx
from onnx import helper

from endotransfer.export.steps import DOUBLE, FLOAT, INT32, INT64, Steps

BITS, CUT = 22, 11


def resize_nodes(images: str, size: tuple[int, int], resized: str) -> list[onnx.NodeProto]:
    """uint8 [B, H, W, 3] -> int32 [B, h, w, 3] with `size` = (h, w)."""
    height, width = size
    put = Steps("resize_")
    lost_rows = put("Sub", put.dimension(images, 1), put.number(height, INT64))  # below 0: gained
    lost_columns = put("Sub", put.dimension(images, 2), put.number(width, INT64))
    nothing = put.number(0, INT64)
    fits = put("And", put("Equal", lost_rows, nothing), put("Equal", lost_columns, nothing))
    branches = {
        "then_branch": _as_they_are(images),
        "else_branch": _in_either_order(images, size, lost_rows, lost_columns),
    }
    put("If", fits, to_name=resized, **branches)
    return put.nodes


def _as_they_are(images: str) -> onnx.GraphProto:
    """Images that have the size: the filter would give them back, and take a seventh of the small network's time."""
    put = Steps("as_they_are_")
    return _graph(put, put.cast(images, INT32), "as_they_are")


def _in_either_order(images: str, size: tuple[int, int], lost_rows: str, lost_columns: str) -> onnx.GraphProto:
    """A branch sees the names of the graph around it."""
    height, width = size
    put = Steps("either_order_")
    tall = put("Greater", lost_rows, put("Mul", lost_columns, put.number(2, INT64)))
    shrinks = put("Greater", lost_rows, put.number(0, INT64))
    branches = {
        "then_branch": _branch(images, "rows_first_", ((1, height), (2, width))),
        "else_branch": _branch(images, "columns_first_", ((2, width), (1, height))),
    }
    return _graph(put, put("If", put("And", tall, shrinks), **branches), "either_order")


def _branch(images: str, prefix: str, passes: tuple[tuple[int, int], ...]) -> onnx.GraphProto:
    """Both passes, each an (axis, new length)."""
    put = Steps(prefix)
    values = images
    for axis, length in passes:
        values = _pass(put, values, axis, length)
    return _graph(put, values, prefix.rstrip("_"))


def _graph(put: Steps, values: str, name: str) -> onnx.GraphProto:
    """A branch that gives `values`, int32 [B, h, w, 3]."""
    return helper.make_graph(put.nodes, name, [], [helper.make_tensor_value_info(values, INT32, [None, None, None, 3])])


def _pass(put: Steps, values: str, axis: int, length: int) -> str:
    """[B, H, W, 3] with axis 1 or 2 brought to `length`.  The work is done with that axis in front: rows are moved."""
    swap = [0, 2, 1, 3]
    turned = values if axis == 1 else put("Transpose", values, perm=swap)
    taps, weights, count = _taps(put, put.dimension(turned, 1), length)
    other = put("Unsqueeze", put.dimension(turned, 2), put.whole([0]))
    flat = put("Reshape", turned, put.whole([0, 0, -1]))
    seen = put.cast(put("Gather", flat, put("Reshape", taps, put.whole([-1])), axis=1), FLOAT)
    grouped = put("Reshape", seen, put("Concat", put.whole([0, length]), count, put.whole([-1]), axis=0))
    sums = put.cast(put("MatMul", weights, grouped), INT32)  # [out, 2, taps] x [B, out, taps, N] -> [B, out, 2, N]
    high, low = (put("Gather", sums, put.number(part, INT64), axis=2) for part in (0, 1))
    both = put("Add", put("Mul", high, put.number(2**CUT, INT32)), low)
    rounded = put("Div", put("Add", both, put.number(2 ** (BITS - 1), INT32)), put.number(2**BITS, INT32))
    shape = put("Concat", put.whole([0, length]), other, put.whole([3]), axis=0)
    result = put("Reshape", rounded, shape)
    return result if axis == 1 else put("Transpose", result, perm=swap)


def _taps(put: Steps, length: str, new_length: int) -> tuple[str, str, str]:
    """Which inputs each output sees, int64 [out, taps]; their weights, float32 [out, 2, taps]; [taps]."""
    one, half, nothing = put.number(1.0), put.number(0.5), put.number(0.0)
    scale = put("Div", put.cast(length, DOUBLE), put.number(new_length))
    reach = put("Max", scale, one)
    middles = put("Add", put("Range", nothing, put.number(new_length), one), half)
    centre = put("Unsqueeze", put("Mul", middles, scale), put.whole([1]))
    first = put.cast(put("Max", put("Add", put("Sub", centre, reach), half), nothing), INT64)
    beyond = put("Min", put.cast(put("Add", put("Add", centre, reach), half), INT64), length)
    most = put.cast(put("Ceil", put("Mul", reach, put.number(2.0))), INT64)
    places = put("Add", first, put("Range", put.number(0, INT64), most, put.number(1, INT64)))
    distance = put("Abs", put("Add", put("Sub", put.cast(places, DOUBLE), centre), half))
    triangle = put("Max", put("Sub", one, put("Div", distance, reach)), nothing)
    raw = put("Mul", triangle, put.cast(put("Less", places, beyond), DOUBLE))
    share = put("Div", raw, put("ReduceSum", raw, put.whole([1]), keepdims=1))
    fixed = put("Floor", put("Add", put("Mul", share, put.number(2.0**BITS)), half))
    cut = put.number(2.0**CUT)
    high = put("Floor", put("Div", fixed, cut))
    low = put("Sub", fixed, put("Mul", high, cut))
    rows = (put("Unsqueeze", part, put.whole([1])) for part in (high, low))
    weights = put.cast(put("Concat", *rows, axis=1), FLOAT)
    inside = put("Min", places, put("Sub", length, put.number(1, INT64)))
    return inside, weights, put("Unsqueeze", most, put.whole([0]))
