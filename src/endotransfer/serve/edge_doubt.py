"""How unsure a model is of where a lesion ends, whatever the lesion's size."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter, minimum_filter

BAND = 0.015  # half the width of the band along an edge, as a share of the image's shorter side
PEAK = 0.001  # share of pixels whose score speaks for an image in which nothing is marked


def edge_doubt(score: NDArray[np.float32]) -> float:
    """The mean of 1 - |2 s - 1| in a band along the edges of the mask.

    `score` s [H, W]: probability of the best class but 0 against class 0; the mask is where s > 1/2.  A sharp edge
    gives little doubt, a soft one much.  Where nothing is marked: how near the most suspicious pixels came to it.
    """
    unsure = 1 - np.abs(2 * score - 1)
    marked = score > 0.5
    if not marked.any():
        most = max(1, round(PEAK * score.size))
        return float(np.partition(unsure.ravel(), -most)[-most:].mean())
    size = 2 * max(1, round(BAND * min(score.shape))) + 1
    edge = maximum_filter(marked, size) & ~minimum_filter(marked, size)
    return float(unsure[edge].mean()) if edge.any() else 0.0
