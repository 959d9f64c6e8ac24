"""False alarms where nothing is to be found: how much of the normal test images is painted."""

from numpy.typing import ArrayLike

from endotransfer.batch import LESION, NORMAL
from endotransfer.metrics.figure import Figure, register
from endotransfer.metrics.rates import Rates, lesion_confusion, ratio


def painted_share(confusion: ArrayLike) -> Rates:
    """FP / (TN + FP), the share of normal pixels predicted as lesion: [..., K, K] -> [...]."""
    merged = lesion_confusion(confusion)
    return ratio(merged[..., NORMAL, LESION], merged[..., NORMAL, :].sum(-1))


register(
    Figure(
        name="normal_painted", label="FP n", title="Normal images painted",
        description="pixels of normal test images predicted as lesion, smaller is better", statistic=painted_share,
        images="normal", larger_is_better=False, needs="lesions", shown="main", interval=True, order=36,
    ),
)  # fmt: skip
