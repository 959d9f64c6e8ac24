"""How predictions agree with image tags, collected image by image: all that can be measured without target masks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from torch import Tensor

from endotransfer.metrics import auroc, confusion, tag_evidence
from endotransfer.metrics.percent import percent


@dataclass
class TagAgreement:
    """One entry of each list for each tagged image; the last two only where there is a tag head or a student."""

    lesion_pixels: list[int] = field(default_factory=list)
    pixels: list[int] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)  # the image's highest lesion probability
    tag_probabilities: list[float] = field(default_factory=list)
    teacher_student: list[list[list[int]]] = field(default_factory=list)  # 2 x 2 confusion of their lesion masks

    def add(
        self, tag: int, probabilities: Tensor, mask: Tensor, tag_probability: float | None, student: Tensor | None
    ) -> None:
        """`probabilities` [K, H, W]; `mask` and `student`, the student's mask, [H, W]."""
        self.lesion_pixels.append(int((mask != 0).sum()))
        self.pixels.append(mask.numel())
        self.tags.append(tag)
        self.peaks.append(float(1 - probabilities[0].min()))
        if tag_probability is not None:
            self.tag_probabilities.append(tag_probability)
        if student is not None:
            self.teacher_student.append(confusion((mask != 0).cpu().long(), (student != 0).cpu().long(), 2).tolist())

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
