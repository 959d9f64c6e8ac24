"""Algorithm 1 as a stream: one threshold a class from all target predictions, in one pass and fixed memory.

Nothing is sorted.  One histogram a predicted class counts the log-odds of the maximum.  Its bins start at chance with
a width of 1/8192 and widen in proportion from there (1/512 at log-odds of 100): finer than half precision throughout,
so that unsure and heavily saturated predictions are resolved alike.  Beside its count each bin holds the sum of its
values' places within it: a bin that holds one value, once or many times over, gives back that very value.  The share
that passes is right to a tenth of a point, but for classes of few pixels that hardly differ (13,000: 0.11 was seen).

Both are sums of integers, so shards of the target set are counted apart and merged without loss, in any order.
"""

import math

import numpy as np
import torch
from torch import Tensor

from endotransfer.distributed import sum_over_processes
from endotransfer.errors import ConfigError
from endotransfer.pseudo_labels.in_parts import in_parts
from endotransfer.pseudo_labels.log_odds import predicted_log_odds

OCTAVES = range(2, 12)  # 2**2 to 2**12, on the scale "4 + distance from chance"
LOWEST = 2.0**OCTAVES.start
HIGHEST = 2.0**OCTAVES.stop * (1 - 2.0**-24)  # the last float32 before the end; what lies beyond counts as this
SAME = 1e-6  # values closer than this (relative) differ by rounding alone


class ThresholdState:
    """What Algorithm 1 needs to know of the predictions seen so far.

    16 bytes a bin: 10 MB at two classes, and under 50 MB up to 19; from ten on the bins are twice as wide.
    """

    def __init__(
        self, classes: int, bins_per_octave: int | None = None, device: torch.device | str | None = None
    ) -> None:
        bins_per_octave = bins_per_octave or (32768 if classes < 10 else 16384)
        bins = len(OCTAVES) * bins_per_octave
        self.sums = torch.zeros(classes, bins, 2, dtype=torch.int64, device=device)  # counts, places
        # The predicted class has p >= 1/K: its log-odds start at -log(K - 1), "chance", which falls into bin 0.
        self.offset = math.log(max(classes - 1, 1)) + LOWEST
        # As integers, the bits of positive float32 (8 of exponent, biased by 127, and 23 of mantissa) are ordered like
        # the numbers: their upper part numbers the bins, the rest is the place within the bin.
        self.shift = 23 - int(math.log2(bins_per_octave))
        self.first_bin = (127 + OCTAVES.start) * bins_per_octave

    @property
    def classes(self) -> int:
        return self.sums.shape[0]

    @property
    def nbytes(self) -> int:
        return self.sums.nbytes

    @property
    def totals(self) -> Tensor:
        """Pixels predicted as each class, [K] int64."""
        return self.sums[..., 0].sum(1)

    # PAPER: Algorithm 1 empties MP_k inside the image loop, so that only the last image would count; here it never is.
    def update(self, logits: Tensor) -> None:
        """Count the predictions of a batch: logits [B, K, H, W], at the size of the labels to be assigned."""
        values, predicted = in_parts(predicted_log_odds, logits.detach())
        self.count(values.flatten(), predicted.flatten())

    def count(self, values: Tensor, predicted: Tensor) -> None:
        """Count log-odds [N] float32 of pixels predicted as classes [N] (integers in 0..K-1).

        No value goes to the host, so a GPU is never made to wait.
        """
        count = self._count_compiled if values.device.type == "cpu" else self._count_by_scatter
        count(values, predicted)

    def reduce_over_processes(self) -> None:
        """Make every process know what all processes have seen."""
        self.sums = sum_over_processes(self.sums)

    def thresholds(self, portion: float, balanced: bool = True) -> Tensor:
        """Log-odds thresholds [K] float32: the share `portion` of each class's pixels lies strictly above.

        `balanced=False` (Ours-woCB): one threshold for all, from the maximum at every pixel.

        The threshold is the value at index floor((1 - p) n), at most n - 1, in ascending order.  Pixels that tie with
        it are all taken or all left, whichever brings the share nearer to p; yet a class that was predicted at all
        never goes without a label.  A class that was never predicted gets +inf and takes no labels.
        """
        # PAPER: (1 - p) length(SM_k) need not be an integer, and at saturated predictions, where more than p of a class
        # have probability 1.0, nothing would exceed SM_k there: hence the rounding, the ties, and log-odds.
        if not 0 < portion <= 1:
            raise ConfigError(f"the portion of pseudo-labels is {portion}; give a share above 0 and at most 1.")
        if balanced:
            return self._quantiles(self.sums, portion)
        return self._quantiles(self.sums.sum(0, keepdim=True), portion).repeat(self.classes)

    def _quantiles(self, sums: Tensor, portion: float) -> Tensor:
        """The thresholds [R] of R histograms [R, bins, 2]."""
        counts, places = sums.unbind(-1)
        upto = counts.cumsum(1)
        total = upto[:, -1]
        wanted = (1 - portion) * total.double()  # where to cut, between 0 and the number of pixels
        rank = wanted.long().minimum(total - 1)
        column = (upto <= rank.unsqueeze(1)).sum(1, keepdim=True).clamp(max=counts.shape[1] - 1)
        inside, place, upto = (row.gather(1, column).squeeze(1).double() for row in (counts, places, upto))

        # Inside the bin, values are taken to be spread evenly about their mean, as widely as the bin allows.
        low, high = (self._edge(column.squeeze(1) + side) for side in (0, 1))
        mean = low + place / inside.clamp(min=1) * (high - low) / 2**self.shift
        lower = (wanted - (upto - inside)) / inside.clamp(min=1)  # the share of the bin to leave, 0 to 1
        cut = mean + torch.minimum(mean - low, high - mean) * (2 * lower - 1)
        # If they all are one value, the cut must fall clearly on one side of it; at the top, on the lower.
        taken = (lower < 0.5) | (upto == total)
        cut = torch.where(taken, cut.minimum(mean - SAME * (1 + mean)), cut.maximum(mean + SAME * (1 + mean)))
        return torch.where(total > 0, cut - self.offset, torch.inf).float()

    def _edge(self, column: Tensor) -> Tensor:
        """The lower edge of a bin, float64."""
        return ((column + self.first_bin) << self.shift).int().view(torch.float32).double()

    def _count_compiled(self, values: Tensor, predicted: Tensor) -> None:
        from endotransfer.pseudo_labels.pixel_loops import count_into_bins

        bounds = np.float32(self.offset), np.float32(LOWEST), np.float32(HIGHEST)
        count_into_bins(values.numpy(), predicted.numpy(), self.sums.numpy(), *bounds, self.shift, self.first_bin)

    def _count_by_scatter(self, values: Tensor, predicted: Tensor) -> None:
        distance = torch.nan_to_num(values + self.offset, nan=LOWEST, posinf=HIGHEST)
        bits = distance.clamp(LOWEST, HIGHEST).view(torch.int32).long()
        index = predicted.long() * self.sums.shape[1] + (bits >> self.shift) - self.first_bin
        sums = torch.stack([torch.ones_like(bits), bits & (2**self.shift - 1)], 1)
        self.sums.view(-1, 2).index_add_(0, index, sums)
