"""Whether an image, its mask and its tag belong together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from endotransfer.batch import IGNORE, LESION, NORMAL, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.data.pipeline.threads import in_threads
from endotransfer.data.read.decode import read_header
from endotransfer.data.read.read_mask import check_mask_format


def check_pairs(samples: Sequence[Sample], classes: Classes) -> None:
    """Before training: every header readable, every mask as large as its image.  No pixels are decoded."""
    faults = [fault for fault in in_threads(lambda sample: _pair_fault(sample, classes), samples) if fault]
    if faults:
        more = f" ({len(faults) - 1} more; `endotransfer data inspect` lists them all)" if len(faults) > 1 else ""
        raise FaultError(f"{faults[0]}{more}", faults[0].fault)


def check_tag(sample: Sample, mask: NDArray[np.uint8]) -> None:
    """A tag that the mask [H, W] contradicts raises; an unlabelled pixel may be the lesion."""
    lesion = bool(((mask != NORMAL) & (mask != IGNORE)).any())
    fix = "correct the label in labels.csv, or the mask"
    if sample.tag == NORMAL and lesion:
        raise failure("tag-mask", sample.image, "is tagged normal, but its mask shows a lesion", fix)
    if sample.tag == LESION and bool((mask == NORMAL).all()):
        raise failure("tag-mask", sample.image, "is tagged lesion, but its mask is empty", fix)


def _pair_fault(sample: Sample, classes: Classes) -> FaultError | None:
    try:
        image = read_header(sample.image)
        if sample.mask is None:
            return None
        mask = read_header(sample.mask)
        check_mask_format(mask.format, classes, sample.mask)
    except FaultError as error:
        return error
    return other_size(sample, (image.height, image.width), (mask.height, mask.width))


def other_size(sample: Sample, image: tuple[int, int], mask: tuple[int, int]) -> FaultError | None:
    """The error for a mask (H, W) of another size than its image (H, W), or None."""
    if image == mask:
        return None
    what = f"is {mask[1]} x {mask[0]} pixels, but its image is {image[1]} x {image[0]}"
    return failure("other-size", sample.mask, what, "export the mask again at the size of the image")
