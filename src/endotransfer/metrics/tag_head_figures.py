"""The tag head S1 against the tags, over the images that have both."""

import numpy as np
from numpy.typing import NDArray

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.metrics.figure import Figure, register
from endotransfer.metrics.scored_images import ScoredImages
from endotransfer.metrics.tag_separation import accuracy, auroc


def predicted_and_true(scores: ScoredImages) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(S1's probability of a lesion, tag) of each tagged image, both [N]."""
    pairs = [
        (image.lesion_probability, image.tag)
        for image in scores.images
        if image.lesion_probability is not None and image.tag != UNKNOWN_TAG
    ]
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs], dtype=np.int64)


def tag_accuracy(scores: ScoredImages) -> float | None:
    probability, tags = predicted_and_true(scores)
    return accuracy(np.where(probability > 0.5, LESION, NORMAL), tags)


def tag_auroc(scores: ScoredImages) -> float | None:
    return auroc(*predicted_and_true(scores))


register(
    Figure(
        name="tags.accuracy", label="accuracy", compute=tag_accuracy, needs="tag_head", by_finding=False, order=300,
    ),
    Figure(
        name="tags.auroc", label="AUROC", description="the tag head S1 against the tags", compute=tag_auroc,
        needs="tag_head", shown="page", by_finding=False, order=310,
    ),
    Figure(
        name="tags.images", label="tagged images", compute=lambda scores: len(predicted_and_true(scores)[1]),
        unit="count", needs="tag_head", by_finding=False, order=320,
    ),
)  # fmt: skip
