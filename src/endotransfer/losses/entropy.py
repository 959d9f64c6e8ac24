"""How unsure a prediction is (Vu et al., "ADVENT", CVPR 2019): entropy as a share of the most possible, log K."""

import math

from torch import Tensor

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean


def self_information(logits: Tensor) -> Tensor:
    """ADVENT's weighted self-information I_c = -P_c log P_c / log K with P = softmax(logits): both [B, K, H, W]."""
    # log P straight from the logits: the log of a P that has become 0 would be infinite, and so its gradient.
    log_p = at_least_float32(logits).log_softmax(1)
    return -log_p.exp() * log_p / math.log(logits.shape[1])


def mean_entropy(logits: Tensor) -> Tensor:
    """MinEnt's objective: the sum of I_c over classes, in [0, 1], averaged over the pixels of all processes."""
    information = self_information(logits)
    pixels = information[:, 0].numel()
    return global_mean(information.sum(), information.new_full((), pixels))  # a plain number makes a GPU's host wait
