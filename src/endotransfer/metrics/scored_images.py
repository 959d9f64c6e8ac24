"""What one evaluation pass keeps of its images, as figures read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from endotransfer.metrics.counts import Counts
from endotransfer.metrics.image_parts import split_by_kind
from endotransfer.metrics.image_scores import ImageScores, stack
from endotransfer.metrics.rates import Matrices


@dataclass(frozen=True, eq=False)
class ScoredImages:
    """`images` in order of their keys.  With `lesions`, class 0 is normal tissue."""

    images: Sequence[ImageScores]
    classes: Sequence[str]
    lesions: bool = True

    @cached_property
    def labelled(self) -> list[ImageScores]:
        """Images with at least one labelled pixel; the others say nothing about masks."""
        return [image for image in self.images if image.matrix.any()]

    @cached_property
    def matrices(self) -> Counts:
        """Confusion matrices of the labelled images: [N, K, K], rows truth."""
        return stack(self.labelled, len(self.classes))

    @cached_property
    def parts(self) -> Matrices:
        """The same with images that show a lesion and normal ones kept apart: [N, P, K, K]."""
        return split_by_kind(self.matrices, self.lesions)

    @cached_property
    def total(self) -> Counts:
        """The confusion matrix over all labelled pixels: [K, K]."""
        total: Counts = self.matrices.sum(0)
        return total

    @property
    def tag_head(self) -> bool:
        """Whether the model has a tag head S1."""
        return any(image.lesion_probability is not None for image in self.images)

    def by_finding(self) -> dict[str, "ScoredImages"]:
        """The labelled images of each finding; an image with `a+b` counts under both."""
        members: dict[str, list[ImageScores]] = {}
        for image in self.labelled:
            for finding in filter(None, image.finding.split("+")):
                members.setdefault(finding, []).append(image)
        return {finding: ScoredImages(some, self.classes, self.lesions) for finding, some in sorted(members.items())}
