"""What flows through training: batches on a device, and what a segmenter returns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.label_values import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.samples import Sample

__all__ = [
    "IGNORE",
    "LESION",
    "NORMAL",
    "UNKNOWN_TAG",
    "Batch",
    "PassBatch",
    "Sample",
    "SegOutput",
    "SourceBatch",
    "TargetBatch",
    "at_least_float32",
]


@dataclass
class SourceBatch:
    """Images of the labelled domain.  The first `len(masks)` of them carry masks, the rest only tags."""

    images: Tensor  # [B, 3, H, W] in [0, 1]
    masks: Tensor  # [M, H, W] int64, M <= B, IGNORE where unlabelled
    tags: Tensor | None  # [B] int64, UNKNOWN_TAG where missing; None: this experiment has no tags
    keys: list[str] = field(default_factory=list)


@dataclass
class TargetBatch:
    """Images of the domain without masks.  There is no mask field, so no method can read one."""

    images: Tensor  # [B, 3, H, W] in [0, 1]
    tags: Tensor | None  # [B] int64, UNKNOWN_TAG where missing; None: this experiment has no tags
    stored: Tensor | None = None  # [B, H, W] int64: the map the last target pass stored, under this batch's geometry
    superpixels: Tensor | None = None  # [B, H, W] int64, where the method asks for them
    keys: list[str] = field(default_factory=list)


class SourceSet(Protocol):
    """The source images that carry masks, whole and unaugmented, in small batches; every process sees all of them."""

    def __iter__(self) -> Iterator[SourceBatch]: ...
    def __len__(self) -> int: ...  # images
    def superpixels(self, keys: list[str]) -> Tensor: ...  # [B, H, W]


@dataclass
class Batch:
    """One training step's images; either domain may be absent (source-only training never forwards a target image)."""

    source: SourceBatch | None = None
    target: TargetBatch | None = None
    # The engine's own, which supervise every method alike:
    reviewed: SourceBatch | None = None  # target images with masks that a person confirmed
    normals: TargetBatch | None = None  # target images tagged normal


@dataclass
class SegOutput:
    """What every segmenter returns, whatever its architecture."""

    logits: Tensor  # [B, K, h, w] at the network's own resolution
    tag_logits: Tensor | None  # [B, 2] from S1, or None where the experiment has no tags
    features: Tensor  # [B, C, h, w]: the features that the pixel classifier sees
    aux: dict[str, Tensor] = field(default_factory=dict)

    def at(self, size: tuple[int, int] | torch.Size) -> Tensor:
        """Logits up-sampled (bilinear) to `size` = (H, W): [B, K, H, W].

        Classes first in memory, however the network had them: what is done to a large map would stride otherwise.
        """
        return interpolate(self.logits.contiguous(), size=tuple(size), mode="bilinear", align_corners=False)


@dataclass
class PassBatch:
    """A few unaugmented target images, as a pass over the whole target set sees them."""

    images: Tensor  # [B, 3, H, W] in [0, 1]
    tags: Tensor | None  # [B] int64
    keys: list[str] = field(default_factory=list)


def at_least_float32(values: Tensor) -> Tensor:
    """Losses and sums run over many thousand pixels, where half precision would lose most of them."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
