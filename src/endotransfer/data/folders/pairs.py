"""Checks that a mask fits its image and its tag."""

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.label_values import IGNORE, LESION, NORMAL
from endotransfer.samples import Sample


def check_tag(sample: Sample, mask: NDArray[np.uint8]) -> None:
    """A tag that the mask [H, W] contradicts raises; an unlabelled pixel may be the lesion."""
    lesion = bool(((mask != NORMAL) & (mask != IGNORE)).any())
    fix = "correct the label in labels.csv, or the mask"
    if sample.tag == NORMAL and lesion:
        raise failure("tag-mask", sample.image, "is tagged normal, but its mask shows a lesion", fix)
    if sample.tag == LESION and bool((mask == NORMAL).all()):
        raise failure("tag-mask", sample.image, "is tagged lesion, but its mask is empty", fix)


def other_size(sample: Sample, image: tuple[int, int], mask: tuple[int, int]) -> FaultError | None:
    """The error for a mask (H, W) of another size than its image (H, W), or None."""
    if image == mask:
        return None
    what = f"is {mask[1]} x {mask[0]} pixels, but its image is {image[1]} x {image[0]}"
    return failure("other-size", sample.mask, what, "export the mask again at the size of the image")
