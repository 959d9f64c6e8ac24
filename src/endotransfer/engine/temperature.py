"""One temperature for the pixel logits, so that probabilities are closer to frequencies.  No target mask is opened.

softmax(logits / T): the most probable class stays the same, only how probable it is called changes.
(Guo et al., On Calibration of Modern Neural Networks, ICML 2017.)
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

RANGE = (0.2, 10.0)  # of temperatures; what lies outside says that logits carry nothing
MOST_BY_TAGS = 2.0  # where peaks cannot tell tags apart, tags ask for any T, and all background would turn to doubt
NOT_FITTED = "not calibrated: no held-out source masks"


def pixel_temperature(logits: Tensor, labels: Tensor) -> float:
    """The T with the smallest mean NLL: logits [N, K], class numbers [N]."""
    return _minimiser(lambda inverse: float(cross_entropy(logits * inverse, labels)))


def tag_temperature(logits: Tensor, lesion: Tensor) -> float:
    """The same for images: each is its most lesion-like pixel [N, K]; `lesion` [N] says whether it is tagged so.

    An image's lesion probability is 1 - p(normal) of that pixel, as in `tag_evidence`.
    """

    def loss(inverse: float) -> float:
        logs = (logits * inverse).log_softmax(1)
        return float(-torch.where(lesion, logs[:, 1:].logsumexp(1), logs[:, 0]).mean())

    return _minimiser(loss)


def combine(source: float | None, tags: float | None) -> float:
    """The largest of 1, the source's, and the tags' up to MOST_BY_TAGS; 1 without masks.

    Masks say how sure a pixel may be, but of the source: on the target networks are surer than they are right, so
    neither the source nor tags that the network has learned by heart may make it surer (T < 1), only less sure.
    """
    return 1.0 if source is None else max(1.0, source, min(tags or 1.0, MOST_BY_TAGS))


def _minimiser(loss: Callable[[float], float]) -> float:
    """NLL is convex in 1 / T, so a search within bounds finds the one minimum."""
    from scipy.optimize import minimize_scalar  # here, because scipy.optimize is slow to import

    found = minimize_scalar(loss, bounds=(1 / RANGE[1], 1 / RANGE[0]), method="bounded", options={"xatol": 1e-4})
    return float(np.clip(1 / found.x, *RANGE))
