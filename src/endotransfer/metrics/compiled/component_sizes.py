"""Connected components of a mask, counted in one walk over its pixels.

No lock of the interpreter is held, so that threads count images side by side.  (Labelling by a library and counting
pairs afterwards took ten times as long or more.)
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def component_sizes(
    mask: NDArray[np.bool_],  # [H, W]: whose components (8 neighbours)
    other: NDArray[np.bool_],  # [H, W]
    counted: NDArray[np.bool_],  # [H, W]: pixels that count
) -> NDArray[np.int64]:
    """[components, 2]: the counted pixels of each component, and how many of them lie in `other`; in raster order."""
    height, width = mask.shape
    # A pixel that starts a label has no marked neighbour before it: one in four pixels can.
    most = ((height + 1) // 2) * ((width + 1) // 2) + 1
    parent = np.zeros(most, np.int32)  # of each label: the lowest that is known to be the same component
    sizes = np.zeros((most, 2), np.int64)
    above, row = np.zeros(width + 2, np.int32), np.zeros(width + 2, np.int32)  # labels, a column of 0 on both sides
    labels = 0
    for y in range(height):
        for x in range(width):
            label = np.int32(0)
            if mask[y, x]:
                # Of the four neighbours before it only these pairs can be of two components: the one above joins all.
                label = above[x + 1]
                if label == 0:
                    left, right = row[x] if row[x] else above[x], above[x + 2]
                    label = left if left else right
                    if left and right:
                        label = _joined(parent, left, right)
                if label == 0:
                    labels += 1
                    label = np.int32(labels)
                    parent[label] = label
                if counted[y, x]:
                    sizes[label, 0] += 1
                    sizes[label, 1] += other[y, x]
            row[x + 1] = label
        above, row = row, above
    components = 0
    for one in range(1, labels + 1):  # a parent is lower than its labels, so it has its place already
        if parent[one] == one:
            sizes[components] = sizes[one]
            parent[one] = components
            components += 1
        else:
            parent[one] = parent[parent[one]]
            sizes[parent[one]] += sizes[one]
    return sizes[:components]


@njit(nogil=True, cache=True)
def _joined(parent: NDArray[np.int32], one: np.int32, other: np.int32) -> np.int32:
    """Make two labels one component; returns its lowest label."""
    while parent[one] != one:
        parent[one] = parent[parent[one]]
        one = parent[one]
    while parent[other] != other:
        parent[other] = parent[parent[other]]
        other = parent[other]
    low, high = min(one, other), max(one, other)
    parent[high] = low
    return low
