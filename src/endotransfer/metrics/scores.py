"""One pass over the images keeps one small matrix each; every figure is derived from those."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import IGNORE, UNKNOWN_TAG
from endotransfer.errors import DataError
from endotransfer.metrics.counts import Counts, Labels, confusion
from endotransfer.metrics.image_scores import ImageRow, ImageScores, stack
from endotransfer.metrics.lesion_matches import LesionMatches, lesion_matches
from endotransfer.metrics.scored_images import ScoredImages
from endotransfer.metrics.summarise import summarise
from endotransfer.metrics.summary import Summary


class Scores:
    """Scores of many images.  `classes` names class 0, 1, ...; with `lesions`, class 0 is normal tissue."""

    def __init__(self, classes: Sequence[str], lesions: bool = True) -> None:
        self.classes = list(classes)
        self.lesions = lesions
        self._by_key: dict[str, ImageScores] = {}

    def update(
        self,
        prediction: Labels,
        truth: Labels,
        *,
        key: str,
        group: str = "",
        finding: str = "",
        tag: int = UNKNOWN_TAG,
        lesion_probability: float | None = None,
        matrix: Counts | None = None,
    ) -> None:
        """Score one image: `prediction` and `truth` [H, W] int, IGNORE in the truth passed over.

        `matrix`: their confusion, where it has been counted already.
        """
        matrix = confusion(prediction, truth, len(self.classes), key) if matrix is None else matrix
        matches = _count_lesions(prediction, truth) if self.lesions else None
        self._add(ImageScores(key, matrix, group, finding, int(tag), lesion_probability, matches))

    def merge(self, other: "Scores") -> None:
        """Take in what another process scored; an image both scored alike (a padded shard) counts once."""
        if (self.classes, self.lesions) != (other.classes, other.lesions):
            raise DataError(f"scores for classes {other.classes} cannot join scores for classes {self.classes}.")
        for image in other.images():
            self._add(image)

    def images(self) -> list[ImageScores]:
        """In order of their keys, so that no figure depends on which process scored what."""
        return [self._by_key[key] for key in sorted(self._by_key)]

    def matrices(self) -> Counts:
        """[N, K, K], in order of the keys."""
        return stack(self.images(), len(self.classes))

    def groups(self) -> list[str]:
        """What the bootstrap draws, [N]."""
        return [image.resampled_with for image in self.images()]

    def rows(self) -> list[ImageRow]:
        """Plain values, for JSON: what a process sends to another, and the table of images."""
        return [image.row() for image in self.images()]

    @classmethod
    def from_rows(cls, classes: Sequence[str], rows: Iterable[Mapping[str, object]], lesions: bool = True) -> "Scores":
        scores = cls(classes, lesions)
        for row in rows:
            scores._add(ImageScores.from_row(row))
        return scores

    def summary(self, resamples: int = 1000, seed: int = 0, level: float = 0.95) -> Summary:
        """Every registered figure; `resamples=0` spares the intervals."""
        return summarise(ScoredImages(self.images(), self.classes, self.lesions), resamples, seed, level)

    def _add(self, image: ImageScores) -> None:
        known = self._by_key.setdefault(image.key, image)
        if known.row() != image.row():
            raise DataError(f"{image.key} was scored twice with two results; give each image to one process, once.")


def _count_lesions(prediction: Labels, truth: Labels) -> LesionMatches:
    predicted, true = (_on_host(labels) for labels in (prediction, truth))
    return lesion_matches(predicted != 0, true != 0, ignored=true == IGNORE)


def _on_host(labels: Labels) -> NDArray[np.generic]:
    return labels.cpu().numpy() if isinstance(labels, Tensor) else labels
