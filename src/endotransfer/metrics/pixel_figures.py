"""IoU, Dice, precision and recall over all test pixels, from one confusion matrix."""

import numpy as np

from endotransfer.metrics import rates
from endotransfer.metrics.figure import Figure, register
from endotransfer.metrics.scored_images import ScoredImages


def absent_classes(scores: ScoredImages) -> list[str]:
    """Classes in neither truth nor prediction: left out of the mean."""
    return [name for name, value in zip(scores.classes, rates.iou(scores.total), strict=True) if np.isnan(value)]


# PAPER: how IoU is averaged is not stated; this is one matrix over the data set, `per_image_figures` the other way.
register(
    Figure(
        name="iou", label="IoU", statistic=rates.iou, by_class=True, shown="main", interval=True, in_paper=True,
        order=10,
    ),
    Figure(
        name="iou_normal", label="IoU n", title="IoU of normal", description="normal tissue",
        statistic=rates.normal_iou, needs="lesions", shown="main", interval=True, in_paper=True, order=20,
    ),
    Figure(
        name="iou_lesion", label="IoU d", title="IoU of lesions", description="lesions of any kind",
        statistic=rates.lesion_iou, needs="lesions", shown="main", interval=True, in_paper=True, order=30,
    ),
    Figure(
        name="miou", label="mIoU", description="the mean over the classes that occur",
        statistic=rates.miou, shown="main", interval=True, leading=True, in_paper=True, order=40,
    ),
    Figure(name="dice", label="Dice", statistic=rates.dice, by_class=True, interval=True, order=50),
    Figure(
        name="dice_lesion", label="Dice", title="Dice of lesions", description="of d",
        statistic=rates.lesion_dice, needs="lesions", shown="page", interval=True, order=60,
    ),
    Figure(name="precision", label="precision", statistic=rates.precision, by_class=True, order=70),
    Figure(name="recall", label="recall", statistic=rates.recall, by_class=True, order=80),
    Figure(name="absent_classes", label="absent classes", compute=absent_classes, unit="text", order=90),
)  # fmt: skip
