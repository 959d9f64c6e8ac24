"""Target images with a mask that a person confirmed or drew, as samples to train on.

Never mixed with `masks/`: those of the target are for evaluation only, `reviewed/` is there to be learnt from.  All but
the images that were drawn to measure on.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.reviewed import FOLDER, read_review
from endotransfer.label_values import IGNORE
from endotransfer.sample import Sample


def reviewed_samples(target: Sequence[Sample]) -> list[Sample]:
    """Those of `target` that a person has accepted or corrected and nobody drew, each with that person's mask."""
    plans = {folder: read_plan(folder) for folder in {_folder(sample) for sample in target}}
    drawn = {(folder, name) for folder, plan in plans.items() if plan is not None for name in plan.images}
    free = [sample for sample in target if (_folder(sample), sample.image.stem) not in drawn]
    return [sample for sample in map(_with_review, free) if sample.mask is not None]


def _folder(sample: Sample) -> Path:
    return sample.image.parent.parent


def _with_review(sample: Sample) -> Sample:
    folder, name = _folder(sample), sample.image.stem
    review = read_review(folder, name)
    # A rejected prediction says nothing about where the lesion is.
    usable = review is not None and review.decision != "rejected"
    return replace(sample, mask=folder / FOLDER / f"{name}.png" if usable else None)


def as_indices(classes: Classes) -> Classes:
    """How a reviewed mask is read: class indices, and 255 for what was not looked at, in two classes too."""
    return Classes(classes.names, IGNORE, ignore_stated=True)
