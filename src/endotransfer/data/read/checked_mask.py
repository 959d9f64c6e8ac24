"""Masks checked against their image and tag.  Another size is an error; a contradicting tag is an error or a note."""

from collections import Counter
from collections.abc import Sequence

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.data.folders.pairs import check_tag, other_size
from endotransfer.data.pipeline.threads import in_threads
from endotransfer.data.read.read_image import image_size
from endotransfer.data.read.read_mask import MaskReading, read_mask
from endotransfer.samples import Sample


def read_checked_mask(
    sample: Sample, size: tuple[int, int], classes: Classes, *, keep_contradictions: bool = False
) -> MaskReading:
    """The mask of `sample`, whose image has `size` (H, W).

    With `keep_contradictions` a contradicting tag is a note instead of an error.
    """
    if sample.mask is None:
        fix = "draw one, or use the image for its tag alone"
        raise failure("no-mask", sample.image, "has no mask, but masks are needed here", fix)
    reading = read_mask(sample.mask, classes)
    if wrong := other_size(sample, size, (reading.mask.shape[0], reading.mask.shape[1])):
        raise wrong
    try:
        check_tag(sample, reading.mask)
    except FaultError as error:
        if not keep_contradictions:
            raise
        what = error.fault.what if error.fault else str(error)
        return MaskReading(reading.mask, (*reading.notes, f"an image {what}; both are kept as they are"))
    return reading


def check_masks(samples: Sequence[Sample], classes: Classes, *, keep_contradictions: bool = False) -> Counter[str]:
    """Read every mask of `samples` once, before training; returns conversion -> number of files."""

    def notes_of(sample: Sample) -> tuple[str, ...]:
        if sample.mask is None:
            return ()
        size = image_size(sample.image)
        return read_checked_mask(sample, size, classes, keep_contradictions=keep_contradictions).notes

    return Counter(note for notes in in_threads(notes_of, samples) for note in set(notes))
