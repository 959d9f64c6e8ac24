"""The focal loss (Lin et al., "Focal Loss for Dense Object Detection", ICCV 2017): what is easy counts for little."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from endotransfer.batch import IGNORE, at_least_float32
from endotransfer.distributed import global_mean


def focal_loss(logits: Tensor, labels: Tensor, gamma: float = 2.0, alpha: float = 0.25) -> Tensor:
    """-a (1 - p)^gamma log p, p the probability of the true label: logits and labels [B, H, W]; labelled pixels' mean.

    Labels are 0, 1 or IGNORE; the factor a is `alpha` for 1 and 1 - alpha for 0.
    """
    logits = at_least_float32(logits)
    positive = labels == 1
    for_truth = torch.where(positive, logits, -logits)
    # log p = -softplus(-x) and log(1 - p) = -softplus(x): nothing rounds to the log of 0.
    easy = torch.exp(-gamma * softplus(for_truth))
    terms = easy * softplus(-for_truth)
    terms = torch.where(positive, alpha * terms, (1 - alpha) * terms)
    labelled = labels != IGNORE
    return global_mean(torch.where(labelled, terms, 0).sum(), labelled.sum())
