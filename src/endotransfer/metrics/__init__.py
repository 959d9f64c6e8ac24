"""IoU, Dice and friends from one confusion matrix an image; confidence intervals; what tags alone can tell.

Functions return fractions (0 to 1) and NaN where a figure does not exist; `Scores.summary` and `tag_evidence`
return per cent and None, ready for JSON.
"""

from endotransfer.metrics.bootstrap import bootstrap_interval, paired_bootstrap, resampled_sums
from endotransfer.metrics.counts import confusion
from endotransfer.metrics.image_scores import ImageScores
from endotransfer.metrics.lesion_matches import LesionMatches, lesion_matches
from endotransfer.metrics.rates import (
    dice,
    dice_of,
    iou,
    iou_of,
    lesion_confusion,
    lesion_dice,
    lesion_iou,
    miou,
    normal_iou,
    precision,
    recall,
)
from endotransfer.metrics.scores import Scores
from endotransfer.metrics.tag_figures import tag_evidence
from endotransfer.metrics.tag_separation import accuracy, auroc

__all__ = [
    "ImageScores",
    "LesionMatches",
    "Scores",
    "accuracy",
    "auroc",
    "bootstrap_interval",
    "confusion",
    "dice",
    "dice_of",
    "iou",
    "iou_of",
    "lesion_confusion",
    "lesion_dice",
    "lesion_iou",
    "lesion_matches",
    "miou",
    "normal_iou",
    "paired_bootstrap",
    "precision",
    "recall",
    "resampled_sums",
    "tag_evidence",
]
