"""What one image contributes to an evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from endotransfer.batch import UNKNOWN_TAG
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.lesion_matches import LesionMatches


@dataclass(frozen=True, eq=False)
class ImageScores:
    """Integers (but for S1's probability), so that any order of adding gives one result."""

    key: str
    matrix: Counts  # [K, K], rows truth
    group: str = ""  # patient or cluster; "": the image stands for itself
    finding: str = ""  # several are joined by "+"
    tag: int = UNKNOWN_TAG
    lesion_probability: float | None = None  # S1's, where there is an S1
    lesions: LesionMatches | None = None

    def row(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what travels between processes and into files."""
        lesions = None if self.lesions is None else list(self.lesions)
        return {**vars(self), "matrix": self.matrix.tolist(), "lesions": lesions}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "ImageScores":
        lesions = None if row["lesions"] is None else LesionMatches(*row["lesions"])
        return cls(**{**row, "matrix": np.array(row["matrix"], dtype=np.int64), "lesions": lesions})

    @property
    def resampled_with(self) -> str:
        """What the bootstrap draws: the patient or cluster, or the image by itself where none is known."""
        return self.group or f"image {self.key}"


def stack(images: Sequence[ImageScores], classes: int) -> Counts:
    """The matrices of `images`: [N, K, K], also for N = 0."""
    return np.array([image.matrix for image in images], dtype=np.int64).reshape(-1, classes, classes)
