"""The colours of the classes in every figure.  They differ in lightness too, not only in hue."""

import numpy as np
from numpy.typing import NDArray

from endotransfer.label_values import IGNORE

CLASS_COLOURS = np.array(  # class 0, then the classes from 1 on; from 1 again after the last
    [
        [58, 76, 140],
        [0, 200, 255], [255, 170, 0], [180, 80, 255], [90, 230, 90], [255, 80, 140],
        [255, 255, 80], [60, 110, 255], [200, 140, 90], [0, 160, 130], [255, 255, 255],
    ],
    dtype=np.uint8,
)  # fmt: skip
NOT_LABELLED = np.array([128, 128, 128], np.uint8)


def colour_table() -> NDArray[np.uint8]:
    """The colour of every value a mask can hold: uint8 [256, 3], grey for IGNORE."""
    cycle = len(CLASS_COLOURS) - 1
    values = np.arange(256)
    table = CLASS_COLOURS[np.where(values == 0, 0, 1 + (values - 1) % cycle)]
    table[IGNORE] = NOT_LABELLED
    return table
