"""Read label files of published sets, whose numbers are looked up in a table of classes."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.classes import LabelNumbers
from endotransfer.data.folders.faults import failure
from endotransfer.data.read.decode import LOSSY, decode
from endotransfer.data.read.mask_channels import single_channel
from endotransfer.data.read.wide_png import first_channel
from endotransfer.label_values import IGNORE


def read_published_labels(path: Path, numbers: LabelNumbers) -> NDArray[np.uint8]:
    """The label file as classes [H, W]: the index, or IGNORE."""
    values = first_channel(path) if numbers.wide else _values(path)
    known = len(numbers.table)
    if (values >= known).any():
        unknown = values[(values >= known) & (values != IGNORE)]
        if unknown.size:
            what = f"holds the number {unknown[0]}, but {numbers.data_set} numbers its labels from 0 to {known - 1}"
            raise failure("unknown-value", path, what, "copy the file again, or name its real layout in the experiment")
    table = np.full(IGNORE + 1, IGNORE, np.uint8)  # 255 is unlabelled in every set
    table[:known] = numbers.table
    return table[values]


def _values(path: Path) -> NDArray[np.integer]:
    """One number a pixel; of a palette its index, whatever the colours."""
    decoded = decode(path)
    if decoded.format in LOSSY:
        what = f"is a {decoded.format} file, which cannot hold label numbers exactly"
        raise failure("lossy-mask", path, what, "use the PNG as it was published")
    return single_channel(decoded, False, path)[0]
