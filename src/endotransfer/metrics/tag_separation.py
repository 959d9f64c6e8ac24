"""How well one number an image agrees with the image's tag (S1's probability, the predicted area)."""

import numpy as np
from numpy.typing import ArrayLike

from endotransfer.batch import LESION, UNKNOWN_TAG
from endotransfer.errors import DataError


def accuracy(prediction: ArrayLike, tags: ArrayLike) -> float | None:
    """The share of tagged images whose tag was predicted; None where no image is tagged.  Both [N]."""
    predicted, true = np.asarray(prediction), np.asarray(tags)
    tagged = true != UNKNOWN_TAG
    return float((predicted == true)[tagged].mean()) if tagged.any() else None


def auroc(scores: ArrayLike, tags: ArrayLike) -> float | None:
    """The chance that a lesion image outscores a normal one (ties count half); None if a kind is missing.

    `scores` [N], higher means lesion; `tags` [N] with UNKNOWN_TAG passed over.
    """
    score, tag = np.asarray(scores, dtype=np.float64), np.asarray(tags)
    tagged = tag != UNKNOWN_TAG
    score, is_lesion = score[tagged], tag[tagged] == LESION
    if not np.isfinite(score).all():
        raise DataError(f"{(~np.isfinite(score)).sum()} image scores are not finite; the model is not usable.")
    if is_lesion.all() or not is_lesion.any():  # also the empty list
        return None
    from sklearn.metrics import roc_auc_score  # here, because scikit-learn takes a second to import

    return float(roc_auc_score(is_lesion, score))
