"""A promptable network of the SAM 2 family in ONNX Runtime: an image once, then masks for any number of prompts.

Two graphs, as exporters of SAM 2 write them (docs/viewer.md):
  encoder  image [1, 3, 1024, 1024], ImageNet's colours -> image_embed [1, 256, 64, 64], high_res_feats_0
           [1, 32, 256, 256], high_res_feats_1 [1, 64, 128, 128]
  decoder  those, points, labels, a mask -> masks [1, 3, 256, 256] as logits, iou_predictions [1, 3]
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from endotransfer.paths import AnyPath
from endotransfer.predict.graph_session import Values, open_graph, read_graph, run_graph, unusable
from endotransfer.predict.prediction import Pixels
from endotransfer.predict.prompts.prompt import Prompt
from endotransfer.predict.prompts.prompt_files import FIX, find_prompt_files

SIDE = 1024  # of the square that the encoder sees
LOW = 256  # of the masks that the decoder gives and takes
PROPOSALS = 3
SMOOTHING = (
    1.0  # deviation in pixels of such a mask; on 23 images of PolypGen 1.8 parts a mask instead of 23, Dice alike
)
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
EMBEDDING = {
    "image_embed": (1, 256, 64, 64),
    "high_res_feats_0": (1, 32, 256, 256),
    "high_res_feats_1": (1, 64, 128, 128),
}
DECODER_INPUTS = {*EMBEDDING, "point_coords", "point_labels", "mask_input", "has_mask_input"}
NEGATIVE, POSITIVE, TOP_LEFT, BOTTOM_RIGHT = 0, 1, 2, 3  # labels of points
Embedding = dict[str, NDArray[np.float16]]


@dataclass(frozen=True)
class Proposals:
    """Three masks for one prompt, as logits over the whole image, and what the network thinks of each."""

    logits: Values  # [3, 256, 256]
    expected_iou: Values  # [3]


class PromptModel:
    """The network that `named` means: a folder with one `*encoder*.onnx` and one `*decoder*.onnx`, one of the two, or
    a repository of a hub.

    `threads`: how many compute one image; all cores if not given.
    """

    def __init__(self, named: AnyPath, threads: int | None = None) -> None:
        files = find_prompt_files(named)
        self.name, self._encoder_path, self._decoder_path = files.name, files.encoder, files.decoder
        contents = [read_graph(path, FIX) for path in (self._encoder_path, self._decoder_path)]
        self.digest = hashlib.sha256(contents[0]).hexdigest()  # of what makes the embeddings
        self._encoder = open_graph(self._encoder_path, contents[0], FIX, threads)
        self._decoder = open_graph(self._decoder_path, contents[1], FIX, threads)
        self._check_names()

    def embed(self, pixels: Pixels) -> Embedding:
        """What the decoder needs to know of an image uint8 [H, W, 3]; seconds of a CPU."""
        feed: dict[str, NDArray[np.generic]] = {self._image: network_image(pixels)}
        names = [output.name for output in self._encoder.get_outputs()]
        found = dict(zip(names, run_graph(self._encoder, self._encoder_path, feed, FIX), strict=True))
        embedding = {name: np.asarray(found[name], np.float16) for name in EMBEDDING}
        if not is_embedding(embedding):
            raise unusable(self._encoder_path, "it gives no embeddings of SAM 2, or values that are not finite", FIX)
        return embedding

    def propose(
        self, embedding: Embedding, size: tuple[int, int], prompt: Prompt, before: Values | None = None
    ) -> Proposals:
        """Masks for a prompt on an image of `size` = (H, W).  `before`: logits [256, 256] of the mask to refine."""
        places, labels = network_points(prompt, size)
        mask = np.zeros((LOW, LOW), np.float32) if before is None else before
        feed: dict[str, NDArray[np.generic]] = {
            **{name: values.astype(np.float32) for name, values in embedding.items()},
            "point_coords": places[None],
            "point_labels": labels[None],
            "mask_input": mask[None, None],
            "has_mask_input": np.array([before is not None], np.float32),
        }
        masks, expected = run_graph(self._decoder, self._decoder_path, feed, FIX)[:2]
        if np.shape(masks) != (1, PROPOSALS, LOW, LOW) or np.shape(expected) != (1, PROPOSALS):
            raise unusable(self._decoder_path, f"its masks have the shape {list(np.shape(masks))}", FIX)
        if not (np.isfinite(masks).all() and np.isfinite(expected).all()):
            raise unusable(self._decoder_path, "it gives values that are not finite numbers", FIX)
        return Proposals(masks[0], expected[0])

    def _check_names(self) -> None:
        images = [one.name for one in self._encoder.get_inputs()]
        if len(images) != 1 or not {one.name for one in self._encoder.get_outputs()} >= {*EMBEDDING}:
            raise unusable(self._encoder_path, f"it does not turn one image into {', '.join(EMBEDDING)}", FIX)
        if {one.name for one in self._decoder.get_inputs()} != DECODER_INPUTS:
            raise unusable(self._decoder_path, f"its inputs are not {', '.join(sorted(DECODER_INPUTS))}", FIX)
        self._image = images[0]


def network_image(pixels: Pixels) -> Values:
    """uint8 [H, W, 3] -> float32 [1, 3, 1024, 1024], its sides stretched as SAM 2 was trained."""
    square = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    colours = (np.asarray(square, np.float32) / 255 - MEAN) / DEVIATION
    return np.ascontiguousarray(colours.transpose(2, 0, 1)[None])


def network_points(prompt: Prompt, size: tuple[int, int]) -> tuple[Values, Values]:
    """Places [N, 2] in the square and labels [N]; a box is two points, its corners."""
    places = [(point.x, point.y) for point in prompt.points]
    labels = [POSITIVE if point.positive else NEGATIVE for point in prompt.points]
    if prompt.box is not None:
        places = [prompt.box[:2], prompt.box[2:], *places]
        labels = [TOP_LEFT, BOTTOM_RIGHT, *labels]
    scale = np.array([SIDE / size[1], SIDE / size[0]])
    return ((np.array(places) + 0.5) * scale - 0.5).astype(np.float32), np.array(labels, np.float32)


def is_embedding(values: Embedding) -> bool:
    """Whether these are embeddings: names, shapes, finite half-precision numbers."""
    return {name: one.shape for name, one in values.items()} == EMBEDDING and all(
        one.dtype == np.float16 and bool(np.isfinite(one).all()) for one in values.values()
    )


def at_size(logits: Values, size: tuple[int, int]) -> NDArray[np.bool_]:
    """The mask [H, W] of logits [256, 256], smoothed a little: as they are, their edges fray into specks."""
    scaled = Image.fromarray(gaussian_filter(logits, SMOOTHING)).resize((size[1], size[0]), Image.Resampling.BILINEAR)
    return np.asarray(scaled) > 0
