"""Run a trained network on images.  `evaluate`, `predict`, the viewer and the report's t-SNE all go through here.

Pixels uint8 [H, W, 3] of any size
  -> `network_input`       uint8 [h, w, 3], resized to the size at which the network sees images
  -> `to_batch`            float [B, 3, h, w] in [0, 1] on the device
  -> `forward_views`       one output for the images, or four with their mirror images; whole or by sliding window
  -> `are_finite`          whether they are, for `require_finite`: a GPU need not be waited for at once
  -> `mean_probabilities`  [K, H, W] of one image, at its own size again
  -> `tag_probabilities`   the tag head's probability of a lesion, for each image
  -> `mean_features`       what the network makes of each image, for the warning about images unlike the training's
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, SegOutput
from endotransfer.config import Experiment
from endotransfer.data.pipeline.working_size import resize_image
from endotransfer.errors import CheckpointError

Forward = Callable[[Tensor], SegOutput]  # images [B, 3, H, W] in [0, 1] -> output
Side = Annotated[int, Field(ge=1, le=10_000)]
OVERLAP = 1 / 3  # of neighbouring windows, at least
FLIPS: tuple[tuple[int, ...], ...] = ((), (3,), (2,), (2, 3))  # axes of [B, C, H, W] that are mirrored


@dataclass(frozen=True)
class InferenceGeometry:
    """`size` (H, W): None means each image's own.  `window` (H, W): None means the whole image at once."""

    size: tuple[Side, Side] | None
    window: tuple[Side, Side] | None = None

    def wrap(self, forward: Forward) -> Forward:
        """`forward` itself, or its sliding-window version."""
        window = self.window
        if window is None:
            return forward
        return lambda images: slide_with_features(forward, images, window)


def geometry_of(experiment: Experiment) -> InferenceGeometry:
    evaluation = experiment.evaluation
    size = None if evaluation.size == "own" else evaluation.size or experiment.data.shape
    return InferenceGeometry(size, evaluation.window)


def network_input(pixels: NDArray[np.uint8], size: tuple[int, int] | None) -> Tensor:
    """uint8 [H, W, 3] -> uint8 [h, w, 3] at `size` = (h, w); None keeps the image's own."""
    return torch.tensor(pixels if size is None else resize_image(pixels, size))  # a copy: `pixels` may be read-only


def to_batch(inputs: Sequence[Tensor], device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """uint8 [h, w, 3] each, all of one size -> [B, 3, h, w] in [0, 1] on `device`."""
    stacked = torch.stack(list(inputs))
    if torch.device(device).type == "cuda":  # pragma: needs cuda
        stacked = stacked.pin_memory()  # or the host would wait for all that the GPU was asked for before
    batch = stacked.to(device, non_blocking=True).permute(0, 3, 1, 2)  # bytes travel, a quarter of the floats
    return batch.to(dtype).contiguous() / 255


def with_temperature(output: SegOutput, temperature: float) -> SegOutput:
    """The same output, its pixel logits divided by `temperature`: other probabilities, the same most probable class."""
    return output if temperature == 1.0 else replace(output, logits=output.logits / temperature)


def forward_views(forward: Forward, images: Tensor, *, flips: bool = False) -> list[SegOutput]:
    """Outputs for `images` [B, 3, H, W]; with `flips` for their mirror images too, flipped back.

    Of features only their means are left, [B, C, 1, 1].
    """
    return [_forward_mirrored(forward, images, axes) for axes in (FLIPS if flips else FLIPS[:1])]


def _forward_mirrored(forward: Forward, images: Tensor, axes: tuple[int, ...]) -> SegOutput:
    output = forward(images.flip(axes) if axes else images)
    return SegOutput(output.logits.flip(axes), output.tag_logits, pooled(output.features))


def are_finite(outputs: Sequence[SegOutput]) -> Tensor:
    """Whether all that is said of all images is finite: one truth value, where it was computed."""
    said = [part for output in outputs for part in (output.logits, output.tag_logits) if part is not None]
    return torch.stack([part.isfinite().all() for part in said]).all()


def require_finite(finite: Tensor) -> None:
    """CheckpointError where `are_finite` says no."""
    if not bool(finite):
        raise CheckpointError(
            "the network's output is not finite, so nothing can be said of the image; its weights are damaged or "
            "training diverged: copy the model again, or train it anew."
        )


def pooled(features: Tensor) -> Tensor:
    """[B, C, h, w] -> float [B, C, 1, 1]."""
    return features.float().mean((2, 3), keepdim=True)


def mean_features(outputs: Sequence[SegOutput]) -> NDArray[np.float32]:
    """[B, C] of outputs of `forward_views`, of the images as they are: mirror images would say nothing else."""
    found: NDArray[np.float32] = outputs[0].features.flatten(1).cpu().numpy()
    return found


def logits_of(output: SegOutput, part: slice, size: tuple[int, int]) -> Tensor:
    """Logits [N, K, H, W] of `part` of the batch, up-sampled to `size` = (H, W)."""
    return interpolate(output.logits[part].float(), size=size, mode="bilinear", align_corners=False)


def logits_at(output: SegOutput, index: int, size: tuple[int, int]) -> Tensor:
    """Logits [K, H, W] of one image of the batch, up-sampled to `size` = (H, W)."""
    return logits_of(output, slice(index, index + 1), size)[0]


def mean_probabilities_of(outputs: Sequence[SegOutput], part: slice, size: tuple[int, int]) -> Tensor:
    """[N, K, H, W] of `part` at `size` = (H, W), averaged over `outputs` one by one: maps may be large."""
    total = logits_of(outputs[0], part, size).softmax(1)
    for output in outputs[1:]:
        total += logits_of(output, part, size).softmax(1)
    return total if len(outputs) == 1 else total / len(outputs)


def mean_probabilities(outputs: Sequence[SegOutput], index: int, size: tuple[int, int]) -> Tensor:
    """[K, H, W] of one image at `size` = (H, W)."""
    return mean_probabilities_of(outputs, slice(index, index + 1), size)[0]


def tag_probabilities(outputs: Sequence[SegOutput]) -> Tensor | None:
    """The tag head's probability of a lesion for each image [B], averaged over `outputs`; None without a tag head."""
    found = [output.tag_logits.float().softmax(1)[:, LESION] for output in outputs if output.tag_logits is not None]
    return torch.stack(found).mean(0) if found else None


def slide(forward: Forward, images: Tensor, window: tuple[int, int]) -> Tensor:
    """Logits [B, K, H, W] at the images' size: at every pixel the mean over the windows that contain it."""
    return slide_with_features(forward, images, window).logits


def slide_with_features(forward: Forward, images: Tensor, window: tuple[int, int]) -> SegOutput:
    """The same, with the features' mean over all windows, [B, C, 1, 1]."""
    size = images.shape[-2:]
    total: Tensor | None = None
    features: list[Tensor] = []
    count = torch.zeros(size, device=images.device)
    for place in _windows(size, window):
        part = images[(..., *place)]
        output = forward(part)
        logits = output.at(part.shape[-2:]).float()
        if total is None:
            total = logits.new_zeros((*logits.shape[:2], *size))
        total[(..., *place)] += logits
        count[place] += 1
        features.append(pooled(output.features))
    assert total is not None
    return SegOutput(total / count, None, torch.stack(features).mean(0))


def starts(length: int, window: int) -> list[int]:
    """Where windows begin along a side: they overlap by a third at least, and the last one ends with the image."""
    if length <= window:
        return [0]
    step = max(1, window - ceil(OVERLAP * window))
    return [*range(0, length - window, step), length - window]


def _windows(size: torch.Size, window: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    for top in starts(size[0], window[0]):
        for left in starts(size[1], window[1]):
            yield slice(top, top + window[0]), slice(left, left + window[1])
