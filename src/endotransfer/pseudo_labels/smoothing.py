"""Beyond the paper: smooths scores among neighbouring places that look alike, and keeps edges of colour.

A layer that scores every place by itself (models/local_features.py) finds a lesion with holes, and alarms on single
places of normal images.  A short random walk over the places removes both: the surest places of a lesion image then
form a region, and the score that normal images do not reach is lower than their worst place.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, unfold

from endotransfer.batch import at_least_float32

STEPS = 8  # for PLACES
PLACES = 32 * 32
EDGE = 200.0  # with it a difference of 0.1 in one channel (of 0 to 1) leaves a seventh of the weight


def steps_for(scores: Tensor, steps: int = STEPS) -> int:
    """Of a map [B, h, w], where `steps` are meant for PLACES: a walk's reach grows with the root of its steps."""
    return math.ceil(steps * scores[0].numel() / PLACES)


def smooth(scores: Tensor, images: Tensor, steps: int) -> Tensor:
    """Scores [B, h, w] after `steps` over images [B, 3, H, W] whose colours, from 0 to 1, are averaged at each place.

    s_i <- sum_j w_ij s_j / sum_j w_ij over i and its eight neighbours in the image, w_ij = exp(-EDGE |c_i - c_j|^2).
    """
    if not steps:
        return scores
    with torch.autocast(scores.device.type, enabled=False):
        height, width = scores.shape[-2:]
        weights = _weights(adaptive_avg_pool2d(at_least_float32(images), (height, width)))
        state = at_least_float32(scores)
        for _ in range(steps):
            state = (weights * _around(state.unsqueeze(1))).sum((1, 2)).view_as(state)
    return state


def _weights(colours: Tensor) -> Tensor:
    """Colours [B, 3, h, w] -> the share that each of nine places has in a step, [B, 1, 9, h w]."""
    difference = _around(colours) - colours.flatten(2).unsqueeze(2)
    likeness = torch.exp(-EDGE * difference.square().sum(1, keepdim=True)) * _around(torch.ones_like(colours[:, :1]))
    return likeness / likeness.sum(2, keepdim=True)


def _around(values: Tensor) -> Tensor:
    """[B, C, h, w] -> those of each place and of its neighbours, 0 beyond the border: [B, C, 9, h w]."""
    return unfold(values, 3, padding=1).unflatten(1, (values.shape[1], 9))
