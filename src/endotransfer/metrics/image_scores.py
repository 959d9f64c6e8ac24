"""What one image contributes to an evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic asks for it before Python 3.12

from endotransfer.batch import UNKNOWN_TAG
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.lesion_matches import LesionMatches


class ImageRow(TypedDict):
    """An image's scores as plain values, ready for JSON."""

    key: str
    matrix: list[list[int]]
    group: str
    finding: str
    tag: int
    lesion_probability: float | None
    lesions: tuple[int, ...] | None  # found, lesions, false positives


_ROW = TypeAdapter(ImageRow)


@dataclass(frozen=True, eq=False)
class ImageScores:
    """Integers (but for S1's probability), so that any order of adding gives one result."""

    key: str
    matrix: Counts  # [K, K], rows truth
    group: str = ""  # patient, sequence or cluster; "" or the key: the image stands for itself
    finding: str = ""  # several are joined by "+"
    tag: int = UNKNOWN_TAG
    lesion_probability: float | None = None  # S1's, where there is an S1
    lesions: LesionMatches | None = None

    def row(self) -> ImageRow:
        """What travels between processes and into files."""
        return ImageRow(
            key=self.key, matrix=self.matrix.tolist(), group=self.group, finding=self.finding, tag=self.tag,
            lesion_probability=self.lesion_probability, lesions=None if self.lesions is None else tuple(self.lesions),
        )  # fmt: skip

    @classmethod
    def from_row(cls, raw: object) -> "ImageScores":
        """The opposite of `row`; ValueError for anything else."""
        row = _ROW.validate_python(raw)
        lesions = None if row["lesions"] is None else LesionMatches(*row["lesions"])
        matrix = np.array(row["matrix"], dtype=np.int64)
        return cls(
            row["key"], matrix, row["group"], row["finding"], row["tag"], row["lesion_probability"], lesions,
        )  # fmt: skip

    @property
    def resampled_with(self) -> str:
        """What the bootstrap draws: the patient or cluster, or the image by itself where none is known."""
        return self.group or self.key


def stack(images: Sequence[ImageScores], classes: int) -> Counts:
    """The matrices of `images`: [N, K, K], also for N = 0."""
    return np.array([image.matrix for image in images], dtype=np.int64).reshape(-1, classes, classes)
