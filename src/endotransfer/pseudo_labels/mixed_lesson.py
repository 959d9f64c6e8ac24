"""Lessons on mixtures (DACS, Tranheden et al., WACV 2021): classes of source images are pasted onto target images, and
the rest of a target image has the labels that a teacher gives it in the same step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from endotransfer.batch import SourceBatch
from endotransfer.data.pipeline.class_mix import chosen_classes, pixels_of
from endotransfer.data.pipeline.fourier_swap import partners
from endotransfer.data.pipeline.order import stable_hash
from endotransfer.data.pipeline.strong_change import strongly_changed
from endotransfer.losses.teacher_labels import labels_and_quality
from endotransfer.models.generators.image_noise import like, uniform_noise

SURE = 0.968  # tau of DACS: the probability of a pixel whose label counts as sure
COLOUR, BLUR = 0.25, 0.5  # strength of the jitter, probability of the blur


@dataclass(frozen=True)
class Lesson:
    """Images that the student learns from, with labels that may be wrong."""

    images: Tensor  # [B, 3, H, W]
    labels: Tensor  # [B, H, W]
    weights: Tensor  # [B, H, W]: how much each label counts

    def times(self, factor: float) -> "Lesson":
        """The same lesson, with labels that count `factor` times as much."""
        return replace(self, weights=factor * self.weights)


def taught(images: Tensor, logits: Tensor, threshold: float = SURE) -> Lesson:
    """Target images [B, 3, H, W] under the labels of a teacher's logits [B, K, H, W]; all of an image's labels count as
    much as the share of its pixels of which the teacher is sure."""
    labels, quality = labels_and_quality(logits, threshold)
    return Lesson(images, labels, quality.view(-1, 1, 1).expand(labels.shape))


def mixed(source: SourceBatch, lesson: Lesson, keys: list[str], step: int, classes: int) -> Lesson:
    """Each image of a lesson under half of the classes of a source image; `keys` are those of the lesson's images."""
    pairs = partners(len(keys), 0, len(source.masks))
    # Stacked, not indexed: a list of numbers copied to a GPU would make the host wait.
    images, masks = (torch.stack([values[index] for index in pairs]) for values in (source.images, source.masks))
    chances = like(uniform_noise(keys, step, (1, classes)), images).flatten(1)
    pasted = pixels_of(masks, chosen_classes(masks, chances))
    mixture = torch.where(pasted.unsqueeze(1), images, lesson.images)
    return Lesson(mixture, masks.where(pasted, lesson.labels), lesson.weights.where(~pasted, 1.0))


def strongly(
    images: Tensor, keys: Sequence[str], step: int, kind: str, colour: float = COLOUR, blur: float = BLUR
) -> Tensor:
    """Images [B, 3, H, W] under strong augmentation: other numbers for every kind, step and image."""
    return strongly_changed(images, colour, blur, [stable_hash(kind, step, key) for key in keys])
