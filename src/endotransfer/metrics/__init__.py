"""IoU, Dice and friends from one confusion matrix an image; confidence intervals; what tags alone can tell.

Functions return fractions (0 to 1) and NaN where a figure does not exist; `Scores.summary` and `tag_evidence`
return per cent and None, ready for JSON.  Every module of this folder is loaded, so that a file is enough for a figure.
"""

from importlib import import_module
from pkgutil import iter_modules

from endotransfer.metrics.bootstrap import paired_bootstrap, resampled_sums
from endotransfer.metrics.counts import confusion
from endotransfer.metrics.figure import FIGURES, Figure, figures, register
from endotransfer.metrics.image_scores import ImageScores
from endotransfer.metrics.lesion_matches import LesionMatches, lesion_matches
from endotransfer.metrics.rates import (
    dice,
    iou,
    lesion_confusion,
    lesion_dice,
    lesion_iou,
    miou,
    normal_iou,
    of_class,
    precision,
    recall,
)
from endotransfer.metrics.scored_images import ScoredImages
from endotransfer.metrics.scores import Scores
from endotransfer.metrics.summary import Summary
from endotransfer.metrics.tag_figures import tag_evidence
from endotransfer.metrics.tag_separation import accuracy, auroc

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "FIGURES",
    "Figure",
    "ImageScores",
    "LesionMatches",
    "ScoredImages",
    "Scores",
    "Summary",
    "accuracy",
    "auroc",
    "confusion",
    "dice",
    "figures",
    "iou",
    "lesion_confusion",
    "lesion_dice",
    "lesion_iou",
    "lesion_matches",
    "miou",
    "normal_iou",
    "of_class",
    "paired_bootstrap",
    "precision",
    "recall",
    "register",
    "resampled_sums",
    "tag_evidence",
]
