"""Means over images, each image counting the same whatever its size.

`overlap_share` x `dice_given_overlap` is the mean Dice over images with a true lesion: did the model see the place, and
if so, how well did it outline it.
"""

import numpy as np

from endotransfer.batch import LESION
from endotransfer.metrics import rates
from endotransfer.metrics.figure import Compute, Figure, Prerequisite, Unit, register
from endotransfer.metrics.scored_images import ScoredImages

EMPTY_MASKS = (
    "an image without a lesion pixel in truth and in prediction is left out of iou_lesion and dice_lesion "
    "and counted in both_empty; an image with lesion pixels in only one of the two scores 0"
)


def mean_of(statistic: rates.Statistic) -> Compute:
    return lambda scores: rates.mean_of_known(statistic(scores.matrices))


def scored_images(scores: ScoredImages) -> int:
    return int((~np.isnan(rates.lesion_dice(scores.matrices))).sum())


def both_empty(scores: ScoredImages) -> int:
    return len(scores.matrices) - scored_images(scores)


def overlap_share(scores: ScoredImages) -> rates.Rates:
    merged = rates.lesion_confusion(scores.matrices)
    return rates.ratio((merged[:, LESION, LESION] > 0).sum(), (merged[:, LESION].sum(-1) > 0).sum())


def dice_given_overlap(scores: ScoredImages) -> rates.Rates:
    overlap = rates.lesion_confusion(scores.matrices)[:, LESION, LESION] > 0
    return rates.mean_of_known(rates.lesion_dice(scores.matrices)[overlap])


def _entry(order: int, key: str, compute: Compute, unit: Unit = "%", needs: Prerequisite = "lesions") -> Figure:
    return Figure(
        name=f"per_image.{key}", label=key.replace("_", " "), compute=compute, unit=unit, needs=needs,
        by_finding=False, order=order,
    )  # fmt: skip


register(
    _entry(100, "miou", mean_of(rates.miou), needs=""),
    _entry(110, "iou_lesion", mean_of(rates.lesion_iou)),
    _entry(120, "dice_lesion", mean_of(rates.lesion_dice)),
    _entry(130, "images", scored_images, "count"),
    _entry(140, "both_empty", both_empty, "count"),
    _entry(150, "empty_masks", lambda scores: EMPTY_MASKS, "text"),
    _entry(160, "overlap_share", overlap_share),
    _entry(170, "dice_given_overlap", dice_given_overlap),
)
