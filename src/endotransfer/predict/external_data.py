"""Whether an ONNX graph asks for other files, told from its bytes alone.

ONNX Runtime opens whatever file a tensor names as its "external data", from the working directory on.  So a graph whose
tensors are not all at hand is refused before the runtime sees it.  Protocol buffers are a
list of fields, each a number and its content; the few that lead to tensors are followed, the rest is skipped.
"""

from collections.abc import Iterator

# Message -> number of a field -> the message that it holds.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_NAME, _EXTERNAL_DATA, _DATA_LOCATION = 8, 13, 14  # of a tensor
_MOST_DEPTH = 60  # graphs within nodes within graphs


def external_tensors(model: bytes) -> list[str]:
    """The names of the tensors of a serialised ONNX model that are kept in another file; ValueError where it is none.

    "" stands for one that is no weight of the graph itself, and which nobody but the file system could supply.
    """
    return [*_external(memoryview(model), "model", 0, of_graph=True)]


def _external(message: memoryview, kind: str, depth: int, *, of_graph: bool) -> Iterator[str]:
    if depth > _MOST_DEPTH:
        raise ValueError("graphs are nested too deeply")
    name, elsewhere = "", False
    for number, content in _fields(message):
        if kind == "tensor":
            elsewhere |= number == _EXTERNAL_DATA or (number == _DATA_LOCATION and content != 0)
            if number == _NAME and isinstance(content, memoryview):
                name = bytes(content).decode("utf-8", errors="replace")
        inner = _INSIDE[kind].get(number)
        if inner is not None and isinstance(content, memoryview):
            own = of_graph and inner in ("graph", "tensor") and kind in ("model", "graph")
            yield from _external(content, inner, depth + 1, of_graph=own)
    if elsewhere:
        yield name if of_graph else ""


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Number and content of every field: bytes, or a whole number."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, place = _varint(message, place)
            yield number, value
            continue
        if wire == 2:
            length, place = _varint(message, place)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError("it is not a list of fields")
        if place + length > len(message):
            raise ValueError("it is cut short")
        yield number, message[place : place + length]
        place += length


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, lowest first, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise ValueError("it is cut short")
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise ValueError("a number is too long")
