"""An exported bundle for Python, run by ONNX Runtime alone: torch is never imported."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Marks, Pixels, Prediction, most_probable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

GRAPH = "model.onnx"
FLIPS: tuple[tuple[int, ...], ...] = ((), (1,), (0,), (0, 1))  # axes of [H, W] that are mirrored


class OnnxPredictor(ImagePredictor):
    """Any image in, a mask of the same size out; the graph itself resizes and normalises.

    `threads`: how many compute one image; all cores if not given.
    """

    def __init__(self, folder: Path, *, flips: bool = False, threads: int | None = None) -> None:
        info = read_info(folder)
        self.classes = info.classes
        self.flips = FLIPS if flips else FLIPS[:1]
        self.size = info.size
        self._session = _session(folder / GRAPH, info.digest, threads)
        self._outputs = [output.name for output in self._session.get_outputs()]

    def predict_batch(self, images: Sequence[Pixels]) -> list[Prediction]:
        found = [self._probabilities(image) for image in images]
        return [
            Prediction(most_probable(values)[0], values, tag, image, self.classes)
            for image, (values, tag) in zip(images, found, strict=True)
        ]

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        found = [self._probabilities(image) for image in images]
        return [Marks(*most_probable(values), tag) for values, tag in found]

    def _probabilities(self, image: Pixels) -> tuple[NDArray[np.float32], float | None]:
        """[K, H, W] and S1's probability of a lesion.  One image at a time: a CPU gains nothing from a batch."""
        views, tags = [], []
        for axes in self.flips:
            values, tag = self.run(np.ascontiguousarray(np.flip(image, axes))[None])
            views.append(np.flip(values[0], tuple(axis + 1 for axis in axes)))
            tags.append(None if tag is None else float(tag[0]))
        mean = views[0] if len(views) == 1 else np.mean(views, axis=0)
        chances = [tag for tag in tags if tag is not None]
        return mean, float(np.mean(chances)) if chances else None

    def run(self, images: Pixels) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """The graph as it is: uint8 [B, H, W, 3] -> probabilities [B, K, H, W] and lesion probability [B]."""
        if self.size is not None and images.shape[1:3] != self.size:
            height, width = self.size
            raise ConfigError(
                f"this bundle was exported for images of {width} x {height} pixels and was given one of "
                f"{images.shape[2]} x {images.shape[1]}; export it again without --size."
            )
        results = dict(zip(self._outputs, self._session.run(None, {"images": images}), strict=True))
        return results["probabilities"], results.get("lesion_probability")


@dataclass(frozen=True)
class BundleInfo:
    """What config.json says of a bundle."""

    classes: list[str]
    size: tuple[int, int] | None  # (H, W) of the images that the graph takes; None: any
    digest: str | None  # sha256 of the graph


def read_info(folder: Path) -> BundleInfo:
    path = folder / "config.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        graph, classes = info["onnx"], info["classes"]
        if not isinstance(graph, dict) or not isinstance(classes, list):
            raise ValueError("it describes no bundle")
        size = [int(side) for side in graph.get("size") or ()]
        return BundleInfo([str(name) for name in classes], (size[0], size[1]) if size else None, graph.get("sha256"))
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as reason:
        raise CheckpointError(f"{path} is missing or damaged ({reason}); export the bundle again.") from None


def _session(path: Path, digest: str | None, threads: int | None) -> "InferenceSession":
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError("ONNX Runtime is not installed; install endotransfer[export].") from None
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise CheckpointError(f"{path} is damaged (its checksum differs); export the bundle again.")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only: what concerns a user is said by our own sentences
        options.intra_op_num_threads = threads or os.cpu_count() or 1
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except OSError as reason:
        raise CheckpointError(f"cannot read {path}: {reason.strerror}; export the bundle again.") from None
