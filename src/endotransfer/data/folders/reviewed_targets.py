"""Target images with a mask that a person confirmed or drew, as samples to train on.

`masks/` of the target is for evaluation only; `reviewed/` is for training, except for the images reserved for
evaluation.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.listing import plain_name
from endotransfer.data.folders.reviewed import reviewed_mask_path
from endotransfer.label_values import IGNORE
from endotransfer.samples import Sample


def reviewed_samples(target: Sequence[Sample]) -> list[Sample]:
    """The samples of `target` with an accepted or corrected review, with its mask; reserved ones are left out."""
    plans = {folder: read_plan(folder) for folder in {_folder(sample) for sample in target}}
    drawn = {(folder, plain_name(name)) for folder, plan in plans.items() if plan is not None for name in plan.images}
    free = [sample for sample in target if (_folder(sample), plain_name(sample.image.stem)) not in drawn]
    return [sample for sample in map(_with_review, free) if sample.mask is not None]


def _folder(sample: Sample) -> Path:
    return sample.image.parent.parent


def _with_review(sample: Sample) -> Sample:
    # A rejected prediction says nothing about where the lesion is: it has no mask here.
    return replace(sample, mask=reviewed_mask_path(_folder(sample), sample.image.stem))


def as_indices(classes: Classes) -> Classes:
    """How a reviewed mask is read: class indices, and 255 for unlabelled pixels, with two classes too."""
    return Classes(classes.names, IGNORE, ignore_stated=True)
