"""The two loops over pixels that no tensor operation does as fast: counting on the CPU, and voting in place.

Imported only where one of them runs: numba takes a second to load, and training on a GPU may never need it.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def count_into_bins(
    values: NDArray[np.float32],  # [N]
    rows: NDArray[Any],  # [N] integers: the histogram that counts this value
    sums: NDArray[np.int64],  # [R, bins, 2], changed
    offset: np.float32,
    low: np.float32,
    high: np.float32,
    shift: int,
    first_bin: int,
) -> None:
    """Add each value to its bin's count and sum of places; bins as in `ThresholdState`."""
    flat, bins, mask = sums.reshape(-1), sums.shape[1], (1 << shift) - 1
    for i in range(values.size):
        distance = np.float32(values[i] + offset)
        # So written that NaN counts as the lowest, and does not write outside the array.
        clipped = high if distance > high else (distance if distance > low else low)
        bits = np.float32(clipped).view(np.int32)
        entry = np.uint64(2 * (np.int64(rows[i]) * bins + (bits >> shift) - first_bin))
        flat[entry] += 1
        flat[entry + np.uint64(1)] += bits & mask


@njit(nogil=True, cache=True)
def vote_along_the_raster(
    labels: NDArray[np.uint8],  # [H, W], changed
    superpixels: NDArray[np.int32],  # [H, W]
    classes: int,
) -> None:
    """Algorithm 2, lines 5 to 18: what is written at one pixel votes at the next."""
    height, width = labels.shape
    votes = np.zeros(256, np.int64)  # by label; the entries from `classes` on collect what is no vote
    # Unsigned: a signed index is tested for being negative at every access, which costs a third of the time.
    columns = np.zeros(width + 1, np.uint64)
    for h in range(height):
        top, bottom = np.uint64(max(h - 1, 0)), np.uint64(min(h + 2, height))
        # The row's unlabelled pixels are listed first: unpredictable branches cost more than the voting.
        unlabelled = 0
        for w in range(width):
            columns[unlabelled] = w
            unlabelled += labels[h, w] >= classes
        for w in columns[:unlabelled]:
            left, right = w - np.uint64(w > 0), min(w + np.uint64(2), np.uint64(width))
            segment = superpixels[h, w]
            for x in range(top, bottom):
                for y in range(left, right):
                    votes[labels[x, y]] += superpixels[x, y] == segment
            winner = labels[h, w]
            for k in range(classes):
                winner = np.uint8(k) if votes[k] > 4 else winner  # of at most 8: no other class can have as many
                votes[k] = 0
            labels[h, w] = winner
