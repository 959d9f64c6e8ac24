"""What a labelling pass did, over all processes."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class LabellingSummary:
    """Lists are by class."""

    portion: float
    thresholds: list[float]  # log-odds; inf: the class was never predicted and takes no labels
    predicted: list[int]  # pixels
    labelled: list[int]  # pixels, after all rules
    images: int

    @property
    def shares(self) -> list[float]:
        """Pixels labelled as each class, relative to those predicted as it."""
        return [labels / max(1, pixels) for labels, pixels in zip(self.labelled, self.predicted, strict=True)]

    @property
    def coverage(self) -> float:
        """The share of all pixels that carry a label."""
        return sum(self.labelled) / max(1, sum(self.predicted))

    def figures(self) -> dict[str, float]:
        """For the log: the portion, the coverage, and each class's threshold (a probability) and share."""
        chances = torch.tensor(self.thresholds).sigmoid().tolist()
        by_class = {f"threshold_{k}": chance for k, chance in enumerate(chances)}
        by_class |= {f"labelled_{k}": share for k, share in enumerate(self.shares)}
        return {"portion": self.portion, "coverage": self.coverage, **by_class}
