"""Target images with a mask that a person confirmed or drew, as samples to train on.

Never mixed with `masks/`: those of the target are for evaluation only, `reviewed/` is there to be learnt from.
"""

from collections.abc import Sequence
from dataclasses import replace

from endotransfer.batch import IGNORE, Sample
from endotransfer.data.classes import Classes
from endotransfer.data.reviewed import FOLDER, read_review


def reviewed_samples(target: Sequence[Sample]) -> list[Sample]:
    """Those of `target` that a person has accepted or corrected, each with that person's mask."""
    return [sample for sample in map(_with_review, target) if sample.mask is not None]


def _with_review(sample: Sample) -> Sample:
    folder, name = sample.image.parent.parent, sample.image.stem
    review = read_review(folder, name)
    # A rejected prediction says nothing about where the lesion is.
    usable = review is not None and review.decision != "rejected"
    return replace(sample, mask=folder / FOLDER / f"{name}.png" if usable else None)


def as_indices(classes: Classes) -> Classes:
    """How a reviewed mask is read: class indices, and 255 for what was not looked at, in two classes too."""
    return Classes(classes.names, IGNORE, ignore_stated=True)
