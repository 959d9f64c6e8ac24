"""Scores counted over all processes: which one a small share exceeds, and how well two kinds are told apart."""

import torch
from torch import Tensor

from endotransfer.distributed import sum_over_processes


class ScoreHistogram:
    """A histogram of scores, 64 bins to a unit from -32 to 32, for shares and ranks over all processes."""

    BINS, EDGE = 4096, 32.0

    def __init__(self, device: torch.device | str | None = None) -> None:
        self.counts = torch.zeros(self.BINS, dtype=torch.int64, device=device)

    def add(self, scores: Tensor, chosen: Tensor) -> None:
        """Count scores [B, ...] of the images that are chosen [B]; no value goes to the host."""
        place = ((scores.float() + self.EDGE) * (self.BINS / (2 * self.EDGE))).long().clamp(0, self.BINS - 1)
        weight = chosen.view(-1, *[1] * (scores.ndim - 1)).expand_as(scores)
        self.counts.scatter_add_(0, place.flatten(), weight.flatten().long())

    def reduce_over_processes(self) -> None:
        self.counts = sum_over_processes(self.counts)

    def exceeded_by(self, share: float) -> Tensor:
        """The least score that at most `share` of those counted exceed; -EDGE where none was."""
        above = self.counts.flip(0).cumsum(0).flip(0)  # at or above each bin's start
        enough = above <= share * self.counts.sum()
        first = torch.where(enough.any(), enough.int().argmax(), self.BINS)  # argmax: the first
        return first * (2 * self.EDGE / self.BINS) - self.EDGE


def auroc(lesion: ScoreHistogram, normal: ScoreHistogram) -> Tensor:
    """How often a lesion image scores above a normal one, ties by half; nan where one kind is missing."""
    below = normal.counts.cumsum(0) - normal.counts
    wins = (lesion.counts * (below + 0.5 * normal.counts)).double().sum()
    return wins / (lesion.counts.sum() * normal.counts.sum())
