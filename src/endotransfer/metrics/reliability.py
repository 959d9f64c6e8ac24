"""How far probabilities hold: of all pixels that were given 70 %, did 70 % turn out so?

Probabilities are counted in thousandths.  Whole numbers add up to the same whatever the order of images, threads and
processes, and their memory does not grow; no probability moves by more than 0.0005.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from endotransfer.metrics.counts import Counts

LEVELS = 1000
BINS = 20  # of equal width, 0.05 each
_WIDTH = LEVELS // BINS


class ReliabilityBin(NamedTuple):
    """Pixels with a probability of `low` up to `high`: their mean probability, and how often it came true."""

    low: float
    high: float
    pixels: int
    probability: float
    observed: float


def probability_levels(probabilities: Tensor) -> Tensor:
    """[...] in 0..1 -> int16 [...] in thousandths, on its own device.  A damaged network's NaN counts as 0."""
    return (probabilities * LEVELS).round().nan_to_num(0).clamp(0, LEVELS).to(torch.int16)


def outcome_counts(levels: Tensor, came_true: Tensor, known: Tensor) -> Counts:
    """Known pixels by outcome (0: it did not come true, 1: it did) and thousandth: three [...] -> [2, 1001].

    On their own device; what is unknown falls into a bin behind the others, which is quicker than to pick the rest.
    """
    bins = 2 * (LEVELS + 1)
    index = torch.where(known, levels + came_true.to(torch.int16) * (LEVELS + 1), bins)
    return torch.bincount(index.flatten(), minlength=bins + 1)[:bins].cpu().numpy().reshape(2, LEVELS + 1)


def reliability_bins(counts: Counts, lowest: float = 0.0) -> list[ReliabilityBin]:
    """The reliability diagram of `counts` [2, 1001]: bins of equal width from `lowest` on, empty ones left out."""
    bin_of = np.minimum(np.arange(LEVELS + 1) // _WIDTH, BINS - 1)
    pixels = np.bincount(bin_of, counts.sum(0), BINS)
    given = np.bincount(bin_of, counts.sum(0) * np.arange(LEVELS + 1) / LEVELS, BINS)
    observed = np.bincount(bin_of, counts[1], BINS)
    first = round(lowest * BINS)
    return [
        ReliabilityBin(b / BINS, (b + 1) / BINS, int(pixels[b]), given[b] / pixels[b], observed[b] / pixels[b])
        for b in range(first, BINS)
        if pixels[b]
    ]


def calibration_error(counts: Counts, lowest: float = 0.0) -> float:
    """ECE: |mean probability - share that came true| of each bin from `lowest` on, weighted by its pixels.

    Naeini et al., AAAI 2015; Guo et al., ICML 2017.  NaN where there is no such pixel.
    """
    bins = reliability_bins(counts, lowest)
    total = sum(one.pixels for one in bins)
    return sum(one.pixels * abs(one.probability - one.observed) for one in bins) / total if total else np.nan


def brier_score(counts: Counts) -> float:
    """The mean of (probability - outcome)^2, the outcome 0 or 1; NaN without a pixel."""
    levels = np.arange(LEVELS + 1) / LEVELS
    total = counts.sum()
    return float((counts[0] * levels**2 + counts[1] * (1 - levels) ** 2).sum() / total) if total else np.nan
