"""The figures of an evaluation as one dictionary: per cent, None for what does not exist, ready for JSON."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.config.class_lists import further_means
from endotransfer.metrics import rates
from endotransfer.metrics.bootstrap import percentiles, resampled_sums
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.image_scores import ImageScores, stack
from endotransfer.metrics.lesion_matches import MIN_COVER, MIN_PIXELS
from endotransfer.metrics.percent import percent, percents
from endotransfer.metrics.tag_separation import accuracy, auroc

Figures = dict[str, Any]

EMPTY_MASKS = (
    "an image without a lesion pixel in truth and in prediction is left out of iou_lesion and dice_lesion "
    "and counted in both_empty; an image with lesion pixels in only one of the two scores 0"
)
LESION_RULE = (
    f"a lesion is an 8-connected component of at least {MIN_PIXELS} pixels; found: at least {MIN_COVER:.0%} "
    "of it predicted; false positive: a predicted component of that size that touches no lesion pixel"
)


def summarise(
    images: Sequence[ImageScores],
    classes: Sequence[str],
    lesions: bool,
    resamples: int,
    seed: int,
    level: float,
) -> Figures:
    """All figures.  With `lesions`, class 0 is normal tissue and the lesion figures merge all other classes;
    without (street scenes) they are None."""
    # An image whose every pixel is IGNORE says nothing: it is counted and otherwise left out.
    labelled = [image for image in images if image.matrix.any()]
    matrices = stack(labelled, len(classes))
    groups = [image.resampled_with for image in labelled]
    sums = resampled_sums(matrices, groups, resamples, seed)
    return {
        "images": len(images),
        "unlabelled_images": len(images) - len(labelled),
        **pixel_figures(matrices.sum(0), classes, lesions),
        "per_image": per_image_figures(matrices, lesions),
        "lesion_wise": lesion_wise_figures(labelled) if lesions else None,
        "tags": tag_figures(images),
        "by_finding": by_finding(labelled, classes, lesions),
        "intervals": {
            "level": 100.0 * level,
            "resamples": resamples,
            "groups": len(set(groups)),
            **intervals(sums, classes, lesions, level),
        },
    }


# PAPER: how IoU is averaged is not stated; this is one matrix over the data set, `per_image_figures` the other way.
def pixel_figures(matrix: Counts, classes: Sequence[str], lesions: bool) -> Figures:
    """Over all pixels of a data set at once, from its summed matrix [K, K]."""

    def named(values: rates.Rates) -> dict[str, float | None]:
        return {name: percent(value) for name, value in zip(classes, values, strict=True)}

    return {
        "iou": named(rates.iou(matrix)),
        "iou_normal": percent(rates.normal_iou(matrix)) if lesions else None,
        "iou_lesion": percent(rates.lesion_iou(matrix)) if lesions else None,
        "miou": percent(rates.miou(matrix)),
        **{name: percent(rates.miou_of(some)(matrix)) for name, some in further_means(classes).items()},
        "dice": named(rates.dice(matrix)),
        "dice_lesion": percent(rates.lesion_dice(matrix)) if lesions else None,
        "precision": named(rates.precision(matrix)),
        "recall": named(rates.recall(matrix)),
        "absent_classes": [n for n, value in zip(classes, rates.iou(matrix), strict=True) if np.isnan(value)],
    }


def per_image_figures(matrices: Counts, lesions: bool) -> Figures:
    """Means over images [N, K, K], each image counting the same whatever its size.

    `overlap_share` x `dice_given_overlap` is the mean Dice over images with a true lesion: did the model see
    the place, and if so, how well did it draw it.
    """
    mean_iou = percent(rates.mean_of_known(rates.miou(matrices)))
    if not lesions:
        return {"miou": mean_iou}
    merged = rates.lesion_confusion(matrices)
    dice = rates.lesion_dice(matrices)
    overlap = merged[:, LESION, LESION] > 0
    has_lesion = merged[:, LESION].sum(-1) > 0
    return {
        "miou": mean_iou,
        "iou_lesion": percent(rates.mean_of_known(rates.lesion_iou(matrices))),
        "dice_lesion": percent(rates.mean_of_known(dice)),
        "images": int((~np.isnan(dice)).sum()),
        "both_empty": int(np.isnan(dice).sum()),
        "empty_masks": EMPTY_MASKS,
        "overlap_share": percent(rates.ratio(overlap.sum(), has_lesion.sum())),
        "dice_given_overlap": percent(rates.mean_of_known(dice[overlap])),
    }


def lesion_wise_figures(images: Sequence[ImageScores]) -> Figures:
    """Lesions counted one by one."""
    counts = np.array([image.lesions for image in images if image.lesions], dtype=np.int64).reshape(-1, 3)
    found, lesions, invented = counts.sum(0).tolist()
    return {
        "sensitivity": percent(rates.ratio(found, lesions)),
        "false_positives_per_image": invented / len(counts) if len(counts) else None,
        "found": found,
        "lesions": lesions,
        "false_positives": invented,
        "rule": LESION_RULE,
    }


def tag_figures(images: Sequence[ImageScores]) -> Figures | None:
    """S1 against the tags, over the images that have both; None where there is no S1."""
    if all(image.lesion_probability is None for image in images):
        return None
    pairs = [(i.lesion_probability, i.tag) for i in images if i.lesion_probability is not None and i.tag != UNKNOWN_TAG]
    probability = np.array([pair[0] for pair in pairs])
    tags = np.array([pair[1] for pair in pairs])
    prediction = np.where(probability > 0.5, LESION, NORMAL)
    return {
        "accuracy": percent(accuracy(prediction, tags)),
        "auroc": percent(auroc(probability, tags)),
        "images": len(pairs),
    }


def by_finding(images: Sequence[ImageScores], classes: Sequence[str], lesions: bool) -> dict[str, Figures]:
    """Pixel and lesion figures of the images with each finding; an image with `a+b` counts under both.

    A finding that means "nothing here" has no lesion pixel, so its IoU of the lesion is 0 or does not exist.
    """
    members: dict[str, list[ImageScores]] = {}
    for image in images:
        for finding in filter(None, image.finding.split("+")):
            members.setdefault(finding, []).append(image)
    return {
        finding: {
            "images": len(some),
            **pixel_figures(stack(some, len(classes)).sum(0), classes, lesions),
            "lesion_wise": lesion_wise_figures(some) if lesions else None,
        }
        for finding, some in sorted(members.items())
    }


def intervals(sums: rates.Matrices, classes: Sequence[str], lesions: bool, level: float) -> Figures:
    """Bootstrap intervals [low, high] from resampled matrices [R, K, K]; None where there is none."""

    def interval(statistic: rates.Statistic) -> list[float] | None:
        return percents(percentiles(statistic(sums), level))

    return {
        "miou": interval(rates.miou),
        **{name: interval(rates.miou_of(some)) for name, some in further_means(classes).items()},
        "iou": {name: interval(rates.iou_of(index)) for index, name in enumerate(classes)},
        "iou_normal": interval(rates.normal_iou) if lesions else None,
        "iou_lesion": interval(rates.lesion_iou) if lesions else None,
        "dice": {name: interval(rates.dice_of(index)) for index, name in enumerate(classes)},
        "dice_lesion": interval(rates.lesion_dice) if lesions else None,
    }
