"""Predictions for pseudo-labels as CBST and CRST make them: the mean over an image and its mirror image."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from endotransfer.batch import SegOutput, at_least_float32
from endotransfer.pseudo_labels.label_target_set import Predict


def flip_averaged(predict: Predict) -> Predict:
    """`predict` with logits log((p(x) + flip(p(flip(x)))) / 2), p = softmax over classes: [B, K, h, w].

    Log-probabilities are logits too, so that thresholds and assignment need not know.  The mean is taken in log space:
    a probability that float32 rounds to 0 or 1 keeps its log-odds.
    """

    def mean_of_both(images: Tensor) -> SegOutput:
        output = predict(images)
        mirrored = predict(images.flip(-1)).logits.flip(-1)
        both = torch.stack([at_least_float32(logits).log_softmax(1) for logits in (output.logits, mirrored)])
        return replace(output, logits=both.logsumexp(0) - math.log(2))

    return mean_of_both
