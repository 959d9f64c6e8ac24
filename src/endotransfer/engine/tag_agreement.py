"""How predictions agree with image tags, collected image by image: all that can be measured without target masks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from endotransfer.metrics import auroc, tag_evidence
from endotransfer.metrics.percent import percent

Labels = NDArray[np.uint8]


@dataclass
class TagAgreement:
    """One entry of each list for each tagged image; the last two only where there is a tag head or a student."""

    lesion_pixels: list[int] = field(default_factory=list)
    pixels: list[int] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)  # the image's highest lesion probability
    tag_probabilities: list[float] = field(default_factory=list)
    teacher_student: list[list[list[int]]] = field(default_factory=list)  # 2 x 2 confusion of their lesion masks

    def add(self, tag: int, peak: float, mask: Labels, tag_probability: float | None, student: Labels | None) -> None:
        """`mask` and `student`, the student's mask, [H, W]; `peak`: the highest lesion probability."""
        lesion = int(np.count_nonzero(mask))
        self.lesion_pixels.append(lesion)
        self.pixels.append(mask.size)
        self.tags.append(tag)
        self.peaks.append(peak)
        if tag_probability is not None:
            self.tag_probabilities.append(tag_probability)
        if student is not None:
            of_student, both = int(np.count_nonzero(student)), int(np.count_nonzero((mask != 0) & (student != 0)))
            neither = mask.size - lesion - of_student + both
            self.teacher_student.append([[neither, lesion - both], [of_student - both, both]])

    def merge(self, other: Mapping[str, list[object]]) -> None:
        """Add the lists of another process, as `vars` gives them."""
        for one in fields(self):
            getattr(self, one.name).extend(other[one.name])

    def figures(self) -> dict[str, object]:
        if not self.tags:
            return {}
        pairs = np.array(self.teacher_student) if self.teacher_student else None
        figures = tag_evidence(self.lesion_pixels, self.pixels, self.tags, self.peaks, pairs)
        if self.tag_probabilities:
            figures["tag_evidence"]["auroc_tag_head"] = percent(auroc(self.tag_probabilities, self.tags))
        return {**figures}
