"""Equation 5: which pixels get which pseudo-label."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from endotransfer.batch import IGNORE
from endotransfer.pseudo_labels.in_parts import in_parts
from endotransfer.pseudo_labels.log_odds import log_odds, predicted_log_odds

CLEAR = 1e-3  # log-odds; of classes above even odds there is one at most, and rounding is far smaller


def assign(logits: Tensor, thresholds: Tensor) -> Tensor:
    """Logits [B, K, H, W] and log-odds thresholds [K] -> labels [B, H, W] uint8, IGNORE where no class passes.

    Eq. 5: argmax_k p_k / exp(-lambda_k), kept where that ratio exceeds 1; equal ratios go to the lowest class.

    Whether p_k exceeds t_k = exp(-lambda_k) is asked in log-odds, where the answer is exact even when both are 1.0 in
    float32.  The ratio then only ranks the classes that passed: the largest exceeds 1 exactly if some class passes.
    """
    # PAPER: the condition of Eq. 5 drops the class index; it is read as that of the largest ratio.
    # PAPER: Eqs. 3 and 4 add lambda times the L1 norm but describe it as a reward; Eq. 5 is its solution with a minus.
    limits = thresholds.to(logits.device, torch.float32).view(1, -1, 1, 1)

    def assigned(logits: Tensor) -> tuple[Tensor]:
        odds = log_odds(logits)
        log_ratio = logsigmoid(odds) - logsigmoid(limits)
        best, label = torch.where(odds > limits, log_ratio, -torch.inf).max(1)
        return (torch.where(best > -torch.inf, label, IGNORE).to(torch.uint8),)

    return in_parts(assigned, logits)[0]


def assign_clear(logits: Tensor, thresholds: Tensor) -> Tensor:
    """`assign` where all thresholds exceed CLEAR: two classes cannot both be more likely than not.

    Only the predicted class can pass then, so the others need not be looked at: a third of the work.
    """
    values, predicted = in_parts(predicted_log_odds, logits)
    return torch.where(values > thresholds.to(values)[predicted], predicted, IGNORE).to(torch.uint8)
