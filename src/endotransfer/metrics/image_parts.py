"""Images with a lesion and normal images kept apart while matrices are summed, for figures over one kind alone."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from endotransfer.metrics.rates import Matrices

ImageKind = Literal["all", "lesion", "normal"]
PARTS = ("lesion", "normal")


def split_by_kind(matrices: ArrayLike, lesions: bool = True) -> Matrices:
    """One matrix an image -> one for each kind, that of the other kind zero: [..., K, K] -> [..., P, K, K].

    An image is of the kind `lesion` where its truth has a pixel that is not class 0.  Sums over images keep the kinds
    apart, and the sum over P is the old matrix.  Without `lesions` there is nothing to tell apart, and P is 1.
    """
    matrix = np.asarray(matrices)
    if not lesions:
        return matrix[..., None, :, :]
    shows_lesion = matrix[..., 1:, :].any((-1, -2), keepdims=True)
    return np.stack([np.where(shows_lesion, matrix, 0), np.where(shows_lesion, 0, matrix)], axis=-3)


def matrices_over(parts: Matrices, kind: ImageKind) -> Matrices:
    """The sums over the images of one kind, or over all: [..., P, K, K] -> [..., K, K]."""
    summed: Matrices = parts.sum(-3) if kind == "all" else parts[..., PARTS.index(kind), :, :]
    return summed
