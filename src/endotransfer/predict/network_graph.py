"""A trained network as an ONNX graph in the cache: what `predict` runs on a CPU, where it is faster than torch.

The graph is the bare network, from pixels at its own size to logits at theirs.  Resizing before it is Pillow's, as
everywhere, and up-sampling behind it two matrix products; in an exported bundle both are nodes of the graph, which take
most of the time of a large picture.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from endotransfer.data.pipeline.working_size import resize_image
from endotransfer.errors import CheckpointError
from endotransfer.familiarity.familiarity import Unfamiliarity
from endotransfer.familiarity.familiarity_file import FamiliarityInfo, read_familiarity
from endotransfer.io import LARGEST_TEXT, read_json_object
from endotransfer.predict.graph_session import open_graph, read_graph, run_graph, unusable
from endotransfer.predict.image_input import ImageLike, as_batch
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Marks, Pixels, Prediction, most_probable
from endotransfer.predict.upsample import upsample
from endotransfer.sealed_json import is_intact

GRAPH, FACTS = "network.onnx", "graph.json"
FIX = "empty the cache of graphs, or predict with --backend torch"
FLIPS: tuple[tuple[int, ...], ...] = ((), (1,), (0,), (0, 1))  # axes of [h, w] that are mirrored
Side = Annotated[int, Field(ge=1, le=10_000)]
Values = NDArray[np.float32]


class GraphFacts(BaseModel):
    """What stands beside a cached graph; `refused`: why there is none."""

    classes: list[str] = Field(default_factory=list, max_length=255)
    size: tuple[Side, Side] = (1, 1)  # (H, W) at which the network sees every image
    sha256: str = ""
    familiarity: FamiliarityInfo | None = None  # of the model, whose file lies beside this
    difference: float = 0.0  # of a probability, from torch, on the images it was compared on
    seconds: float = 0.0  # for one of them
    torch_seconds: float = 0.0
    refused: str = ""

    @property
    def quicker(self) -> bool:
        """Whether it is worth using."""
        return not self.refused and self.seconds < self.torch_seconds


def read_facts(folder: Path) -> GraphFacts:
    """graph.json of a cached graph; CheckpointError where it is not what was written."""
    facts = read_json_object(folder / FACTS, CheckpointError, FIX, LARGEST_TEXT)
    try:
        if is_intact(facts):
            return GraphFacts.model_validate(facts)
    except ValidationError:
        pass
    raise CheckpointError(f"{folder / FACTS} is damaged; {FIX}.")


class NetworkGraph(ImagePredictor):
    """Any image in, a mask of the same size out.  `threads`: how many compute one image; all cores if not given."""

    size: tuple[int, int] | None = None  # of the images it takes: any

    def __init__(self, folder: Path, *, flips: bool = False, threads: int | None = None) -> None:
        facts = read_facts(folder)
        self.classes, self._shape = facts.classes, facts.size
        self._flips = FLIPS if flips else FLIPS[:1]
        self._path = folder / GRAPH
        content = read_graph(self._path, FIX)
        if hashlib.sha256(content).hexdigest() != facts.sha256:
            raise CheckpointError(f"{self._path} is damaged (its checksum differs); {FIX}.")
        self._session = open_graph(self._path, content, FIX, threads)
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._familiarity = read_familiarity(folder, facts.familiarity, FIX) if facts.familiarity else None

    def predict_batch(self, images: Sequence[ImageLike]) -> list[Prediction]:
        predictions = []
        for image in as_batch(images):
            values, tag, unfamiliar = self._probabilities(image)
            predictions.append(Prediction(most_probable(values)[0], values, tag, image, self.classes, unfamiliar))
        return predictions

    def mark_batch(self, images: Sequence[Pixels]) -> list[Marks]:
        return [self._mark(image) for image in images]

    def _mark(self, image: Pixels) -> Marks:
        if len(self.classes) > 2 or len(self._flips) > 1:
            values, tag, unfamiliar = self._probabilities(image)
            return Marks(*most_probable(values), tag, unfamiliar)
        ((logits, tag, unfamiliar),) = self._views(image)
        # Softmax of two is the logistic function of their difference: one map is up-sampled, not two.
        lead = upsample(logits[1] - logits[0], image.shape[:2])
        mask = (lead > 0).view(np.uint8)
        return Marks(mask, _logistic(np.abs(lead, out=lead)), tag, unfamiliar)

    def _probabilities(self, image: Pixels) -> tuple[Values, float | None, Unfamiliarity | None]:
        """[K, H, W] and the tag head's probability of a lesion, averaged over the mirror images; the warning."""
        total: Values | None = None
        tags, warning = [], None
        for logits, tag, unfamiliar in self._views(image):
            warning = warning or unfamiliar
            values = _softmax(upsample(logits, image.shape[:2]))
            total = values if total is None else total + values
            tags += [] if tag is None else [tag]
        assert total is not None
        mean = total if len(self._flips) == 1 else total / np.float32(len(self._flips))
        return mean, float(np.mean(tags)) if tags else None, warning

    def _views(self, image: Pixels) -> Iterator[tuple[Values, float | None, Unfamiliarity | None]]:
        """Logits [K, h, w] of the image and its mirror images, turned back, each with its tag; the image's warning."""
        small = resize_image(image, self._shape)
        for axes in self._flips:
            batch = np.ascontiguousarray(np.flip(small, axes).transpose(2, 0, 1)[None], np.float32) / np.float32(255)
            found = dict(
                zip(self._outputs, run_graph(self._session, self._path, {"network_input": batch}, FIX), strict=True)
            )
            if not all(np.isfinite(values).all() for values in found.values()):
                raise unusable(self._path, "it gives values that are not finite numbers", FIX)
            if not _are_logits(found, len(self.classes)):
                raise unusable(self._path, f"it gives no logits of {len(self.classes)} classes", FIX)
            tag = float(_softmax(found["tag_logits"][0])[1]) if "tag_logits" in found else None
            unfamiliar = None
            if not axes and self._familiarity is not None:
                unfamiliar = self._familiarity.assess(small, found["features"][0] if "features" in found else None)
            yield np.flip(found["logits"][0], tuple(axis + 1 for axis in axes)), tag, unfamiliar


def _are_logits(found: Mapping[str, Values], classes: int) -> bool:
    shapes = [np.shape(found.get(name, ())) for name in ("logits", "tag_logits")]
    tagged = len(shapes[1]) == 2 and shapes[1][0] == 1 and shapes[1][1] > 1
    return len(shapes[0]) == 4 and shapes[0][:2] == (1, classes) and (tagged or "tag_logits" not in found)


def _logistic(values: Values) -> Values:
    """1 / (1 + exp(-x)), in place."""
    np.negative(values, out=values)
    np.exp(values, out=values)
    values += 1
    return np.reciprocal(values, out=values)


def _softmax(values: Values) -> Values:
    """Over the first axis."""
    exponentials = np.exp(values - values.max(0))
    result: Values = exponentials / exponentials.sum(0)
    return result
