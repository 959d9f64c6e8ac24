"""Beyond the paper: local scores follow the regions of an image, so that a lesion is ranked as one piece.

A linear layer sees a small neighbourhood: inside a lesion its scores are patchy, and they run over the edge.  A random
walk over all places of the image, likelier between places of like features (models/region_encoder.py), evens them out
within a region and not across its edge.  Only the order of places is taken from it: the walk shrinks scores, by how
much depends on the image, and the limit on them is set by the values that normal images reach.
"""

import torch
from torch import Tensor
from torch.nn.functional import normalize

SHARPNESS = 10.0  # of the walk: from likeness 1 to 0 a step becomes exp(-10) times as likely
STEPS = 8


def along_regions(scores: Tensor, features: Tensor) -> Tensor:
    """Scores [B, h, w] in the order that a walk over features [B, C, h, w] gives them; every image keeps its values."""
    # One by one: the likeness of all pairs of places of a whole batch would take gigabytes.
    pairs = zip(scores.float().flatten(1), features.float().flatten(2), strict=True)
    with torch.autocast(scores.device.type, enabled=False):
        found = [reordered(one, walked(one, seen)) for one, seen in pairs]
    return torch.stack(found).view_as(scores)


def walked(scores: Tensor, features: Tensor, sharpness: float = SHARPNESS, steps: int = STEPS) -> Tensor:
    """Scores [P] after a random walk over features [C, P].

    likeness_ij = the cosine of both places' features, less the image's mean; W_ij = exp(sharpness likeness_ij) / sum
    over j; W^steps scores.
    """
    directions = normalize(features - features.mean(1, keepdim=True), dim=0)
    step = (sharpness * (directions.T @ directions)).softmax(1)
    for _ in range(steps):
        scores = step @ scores
    return scores


def reordered(values: Tensor, order: Tensor) -> Tensor:
    """The values [P], the smallest where `order` [P] is smallest, and so on; ties of the order are theirs to decide."""
    ascending = values.argsort(stable=True)
    placed = torch.empty_like(values)
    placed[ascending[order[ascending].argsort(stable=True)]] = values[ascending]
    return placed
