"""An exported bundle for Python, run by ONNX Runtime alone: torch is never imported."""

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from endotransfer.errors import CheckpointError, ConfigError, shortened
from endotransfer.familiarity.familiarity import Unfamiliarity
from endotransfer.familiarity.familiarity_file import FamiliarityInfo, read_familiarity
from endotransfer.io import LARGEST_TEXT, read_json_object
from endotransfer.predict.graph_session import open_graph, read_graph, run_graph, unusable
from endotransfer.predict.image_input import ImageLike, as_batch
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Marks, Pixels, Prediction, most_probable
from endotransfer.sealed_json import is_intact

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

GRAPH, WEIGHTS = "model.onnx", "weights.safetensors"
OUTSIDE = f"{WEIGHTS}:"  # before the name of a tensor that a graph leaves to that file
AGAIN = "export the bundle again"
Floats = NDArray[np.float32]
Side = Annotated[int, Field(ge=1, le=10_000)]
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
        self._path = folder / GRAPH
        self._familiarity = read_familiarity(folder, info.familiarity, AGAIN) if info.familiarity else None
        self._session = _session(self._path, info, threads)
        self._outputs = [output.name for output in self._session.get_outputs()]
        if [one.name for one in self._session.get_inputs()] != ["images"] or "probabilities" not in self._outputs:
            raise _unusable(self._path, "it does not turn `images` into `probabilities`")

    def predict_batch(self, images: Sequence[ImageLike]) -> list[Prediction]:
        batch = as_batch(images)
        found = [self._probabilities(image) for image in batch]
        return [
            Prediction(most_probable(values)[0], values, tag, image, self.classes, unfamiliar)
            for image, (values, tag, unfamiliar) in zip(batch, found, strict=True)
        ]

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        found = [self._probabilities(image) for image in images]
        return [Marks(*most_probable(values), tag, unfamiliar) for values, tag, unfamiliar in found]

    def _probabilities(self, image: Pixels) -> tuple[NDArray[np.float32], float | None, Unfamiliarity | None]:
        """[K, H, W], S1's probability of a lesion, the warning.  One at a time: a CPU gains nothing from a batch."""
        views, tags = [], []
        unfamiliar = None
        for axes in self.flips:
            values, tag, features = self.run(np.ascontiguousarray(np.flip(image, axes))[None])
            if not axes and self._familiarity is not None:
                unfamiliar = self._familiarity.assess(image, None if features is None else features[0])
            views.append(np.flip(values[0], tuple(axis + 1 for axis in axes)))
            tags.append(None if tag is None else float(tag[0]))
        mean = views[0] if len(views) == 1 else np.mean(views, axis=0)
        chances = [tag for tag in tags if tag is not None]
        return mean, float(np.mean(chances)) if chances else None, unfamiliar

    def run(self, images: Pixels) -> tuple[Floats, Floats | None, Floats | None]:
        """The graph as it is: uint8 [B, H, W, 3] -> probabilities [B, K, H, W], lesion probability [B], features."""
        if self.size is not None and images.shape[1:3] != self.size:
            height, width = self.size
            raise ConfigError(
                f"this bundle was exported for images of {width} x {height} pixels and was given one of "
                f"{images.shape[2]} x {images.shape[1]}; export it again without --size."
            )
        results = dict(zip(self._outputs, run_graph(self._session, self._path, {"images": images}, AGAIN), strict=True))
        probabilities, tags = results["probabilities"], results.get("lesion_probability")
        features = results.get("features")
        self._check(images, probabilities, tags, features)
        return probabilities, tags, features

    def _check(self, images: Pixels, probabilities: Floats, tags: Floats | None, features: Floats | None) -> None:
        """A graph of somebody else's may give anything."""
        batch, height, width = images.shape[:3]
        if np.shape(probabilities) != (batch, len(self.classes), height, width):
            raise _unusable(self._path, f"its probabilities have the shape {list(np.shape(probabilities))}")
        if tags is not None and np.shape(tags) != (batch,):
            raise _unusable(self._path, f"its tags have the shape {list(np.shape(tags))}")
        if features is not None and (np.ndim(features) != 2 or len(features) != batch):
            raise _unusable(self._path, f"its features have the shape {list(np.shape(features))}")
        for values in (probabilities, tags, features):
            if values is not None and not (values.dtype.kind == "f" and np.isfinite(values).all()):
                raise _unusable(self._path, "it gives values that are not finite numbers")


class GraphDescription(BaseModel):
    """`onnx` of config.json, as far as it is needed here."""

    size: tuple[Side, Side] | None = None
    sha256: str | None = None
    weights: Literal["weights.safetensors"] | None = None  # where the graph has its weights, if not within


class BundleDescription(BaseModel):
    """config.json of a bundle, as far as it is needed here."""

    sha256: str | None = None  # of weights.safetensors
    classes: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(min_length=2, max_length=255)
    onnx: GraphDescription
    familiarity: FamiliarityInfo | None = None


@dataclass(frozen=True)
class BundleInfo:
    """What config.json says of a bundle."""

    classes: list[str]
    size: tuple[int, int] | None  # (H, W) of the images that the graph takes; None: any
    digest: str | None  # sha256 of the graph
    weights: str | None  # sha256 of weights.safetensors, where the graph has its weights there
    familiarity: FamiliarityInfo | None  # None: of an older version, or nothing was fitted


def read_info(folder: Path) -> BundleInfo:
    path = folder / "config.json"
    info = read_json_object(path, CheckpointError, AGAIN, LARGEST_TEXT)
    intact = is_intact(info)
    if intact is False:
        raise CheckpointError(f"{path} is damaged (its checksum differs); {AGAIN}.")
    try:
        described = BundleDescription.model_validate({key: info.get(key) for key in BundleDescription.model_fields})
    except ValidationError as reason:
        fault = reason.errors(include_url=False, include_input=False)[0]
        where = shortened(".".join(map(str, fault["loc"])), 200)
        raise CheckpointError(f"{path} is damaged ('{where}': {fault['msg']}); {AGAIN}.") from None
    if intact is None:
        print(f"note: {path} has no checksum (an older version wrote it), so damage to it would go unseen.",
              file=sys.stderr)  # fmt: skip
    outside = (described.sha256 or "unknown") if described.onnx.weights else None
    return BundleInfo(
        described.classes, described.onnx.size, described.onnx.sha256, outside, described.familiarity
    )  # fmt: skip


def _session(path: Path, info: BundleInfo, threads: int | None) -> "InferenceSession":
    content = _checked(path, read_graph(path, AGAIN), info.digest)
    if info.weights is None:
        return open_graph(path, content, AGAIN, threads)
    return open_graph(path, content, AGAIN, threads, _weights(path.with_name(WEIGHTS), info.weights))


def _weights(path: Path, digest: str) -> dict[str, NDArray[np.generic]]:
    """The tensors of weights.safetensors under the names that they have in a graph."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = _checked(path, read_graph(path, AGAIN), digest)
    try:
        return {f"{OUTSIDE}{name}": value for name, value in load(content).items()}
    except (SafetensorError, ValueError, KeyError, TypeError) as reason:
        raise _unusable(path, reason) from None


def _checked(path: Path, content: bytes, digest: str | None) -> bytes:
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{path} is damaged (its checksum differs); {AGAIN}.")
    return content


def _unusable(path: Path, reason: object) -> CheckpointError:
    return unusable(path, reason, AGAIN)
