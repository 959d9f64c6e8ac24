"""ONNX graphs of anybody's, opened by ONNX Runtime within limits; what goes wrong is one sentence."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from endotransfer.errors import CheckpointError, ConfigError, shortened
from endotransfer.io import read_bounded
from endotransfer.predict.external_data import external_tensors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

LARGEST_GRAPH = 2**31  # bytes; a protocol buffer can be no larger
Values = NDArray[np.float32]


def read_graph(path: Path, fix: str) -> bytes:
    """The bytes of the graph at `path`.  `fix`: what the user can do where it is of no use."""
    try:
        return read_bounded(path, CheckpointError, fix, LARGEST_GRAPH)
    except FileNotFoundError:
        raise CheckpointError(f"there is no {path}; {fix}.") from None


def open_graph(
    path: Path,
    content: bytes,
    fix: str,
    threads: int | None = None,
    outside: Mapping[str, NDArray[np.generic]] = MappingProxyType({}),
) -> "InferenceSession":
    """A session for the graph `content`, which was read from `path`; one that names other files is refused.

    `outside`: weights that are not in the graph, by their names in it; no file is opened for these.
    """
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError("ONNX Runtime is not installed; install onnxruntime.") from None
    try:
        wanted = external_tensors(content)
        if not all(name in outside for name in wanted):
            raise CheckpointError(f"{path} asks for other files, which no graph of ours does; {fix}.")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only: what concerns a user is said by our own sentences
        options.intra_op_num_threads = threads or os.cpu_count() or 1
        if wanted:
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(outside[name])) for name in wanted]
            options.add_external_initializers(wanted, values)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except CheckpointError:
        raise
    except Exception as reason:  # the runtime has exceptions of its own, which share no other class
        raise unusable(path, reason, fix) from None


def run_graph(session: "InferenceSession", path: Path, feed: dict[str, NDArray[np.generic]], fix: str) -> list[Values]:
    """All outputs for `feed`."""
    try:
        found: list[Values] = session.run(None, feed)
    except Exception as reason:  # the runtime has exceptions of its own, which share no other class
        raise unusable(path, reason, fix) from None
    return found


def unusable(path: Path, reason: object, fix: str) -> CheckpointError:
    why = shortened(" ".join(str(reason).split()), 400)
    return CheckpointError(f"ONNX Runtime cannot use {path} ({why}); {fix}.")
