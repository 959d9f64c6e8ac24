"""How sure a prediction is, as log-odds.

float32 probabilities stop at 1.0 once logits differ by about 17, and everything beyond looks alike.
Log-odds, log p - log(1 - p) = logit_k - logsumexp(the other logits), keep their order however saturated the
prediction.
"""

import torch
from torch import Tensor


def predicted_log_odds(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [B, K, H, W] -> log-odds of the predicted class [B, H, W] float32, and that class [B, H, W].

    `M_j` and `L_j` of Algorithm 1; equal logits go to the lowest class.  With one class only, nothing speaks
    against it: +inf.
    """
    logits = logits.float()
    top, predicted = logits.max(1)
    others = logits.scatter(1, predicted.unsqueeze(1), -torch.inf)
    return top - others.logsumexp(1), predicted


def log_odds(logits: Tensor) -> Tensor:
    """Log-odds of every class, [B, K, H, W] float32; at the predicted class those of `predicted_log_odds`."""
    top, predicted = predicted_log_odds(logits)
    top, predicted = top.unsqueeze(1), predicted.unsqueeze(1)
    # A class that is not predicted has p <= 1/2, where 1 - p loses nothing; no such class may outdo the
    # predicted one by a rounding error.
    log_p = logits.float().log_softmax(1)
    odds = torch.minimum(log_p - torch.log1p(-log_p.exp()), top)
    return odds.scatter(1, predicted, top)
