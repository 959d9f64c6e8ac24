"""How much more likely than normal a lesion of any kind is, pixel by pixel."""

from torch import Tensor

from endotransfer.batch import LESION, NORMAL


def lesion_score(logits: Tensor) -> Tensor:
    """Log-odds of a lesion of any kind: logits [B, K, h, w], class 0 is normal -> [B, h, w]."""
    return logits[:, LESION:].logsumexp(1) - logits[:, NORMAL]
