"""Class prototypes of pixel features, and what pixels and image tags have to do with them (Das et al., "WDASS",
CVPR 2023).

Similarities are cosines: features f [B, C, h, w] and prototypes p [K, C] are taken at length one.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from endotransfer.batch import LESION, NORMAL, at_least_float32
from endotransfer.distributed import global_mean, sum_over_processes
from endotransfer.losses.centroids import class_sums
from endotransfer.losses.lesion_odds import lesion_score

UNLIKELY = -1e4  # the similarity to a class that has no prototype yet: exp of it is 0


@torch.no_grad()
def class_prototypes(features: Tensor, labels: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Features [B, C, h, w], labels [B, h, w] -> prototypes [K, C] of all processes, whether there is one [K].

    p_k = sum_i w_i f_i / sum_i w_i over the pixels labelled k, where w_i = max(0, f_i . c_k) and c_k is their plain
    mean: pixels that are unlike the rest of their class count less.  (At 90 degrees and beyond they do not count.)
    """
    unit = normalize(at_least_float32(features), dim=1)
    sums, counts = (sum_over_processes(part) for part in class_sums(unit, labels, classes))
    centres = sums / counts.clamp(min=1).unsqueeze(1)
    members = (labels.unsqueeze(1) == torch.arange(classes, device=labels.device)[:, None, None]).to(unit.dtype)
    with torch.autocast(unit.device.type, enabled=False):
        weights = members * torch.einsum("bchw,kc->bkhw", unit, centres).relu()
        weighted = torch.einsum("bkhw,bchw->kc", weights, unit)
    totals = sum_over_processes(weights.sum((0, 2, 3)))
    return sum_over_processes(weighted) / totals.clamp(min=1e-12).unsqueeze(1), totals > 0


class Prototypes(nn.Module):
    """One prototype a class, as a moving average over steps that starts at the first.  Its state is in `state_dict`."""

    vectors: Tensor  # [K, C]
    seen: Tensor  # [K] bool: classes that have had a pixel

    def __init__(self, classes: int, channels: int, momentum: float) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("vectors", torch.zeros(classes, channels))
        self.register_buffer("seen", torch.zeros(classes, dtype=torch.bool))

    @torch.no_grad()
    def update(self, features: Tensor, labels: Tensor) -> None:
        """m p_k + (1 - m) p_k(this step); a class without a pixel in this step stays as it is."""
        newest, present = class_prototypes(features, labels, len(self.vectors))
        moved = torch.where(self.seen.unsqueeze(1), torch.lerp(newest, self.vectors.to(newest), self.momentum), newest)
        # New tensors, not changed ones: this step's graph may still hold the old.
        self.vectors = torch.where(present.unsqueeze(1), moved, self.vectors.to(moved)).to(self.vectors.dtype)
        self.seen = self.seen | present

    def similarities(self, features: Tensor, temperature: float) -> Tensor:
        """f . p_k / temperature: features [B, C, h, w] -> [B, K, h, w]; UNLIKELY for classes never seen."""
        unit = normalize(at_least_float32(features), dim=1)
        with torch.autocast(unit.device.type, enabled=False):
            cosines = torch.einsum("bchw,kc->bkhw", unit, normalize(self.vectors.to(unit), dim=1))
        return torch.where(self.seen[:, None, None], cosines / temperature, UNLIKELY)


def prototype_contrast(similarities: Tensor, labels: Tensor, seen: Tensor) -> Tensor:
    """InfoNCE of pixels against prototypes: similarities [B, K, h, w], labels [B, h, w], classes seen [K].

    -log(exp s_y / sum_k exp s_k) at every pixel labelled y, the mean over each class's pixels, and the mean of these
    over the classes that have any: every class counts the same.  Where y has no prototype the pixel is left out.
    """
    classes = similarities.shape[1]
    wanted = labels.unsqueeze(1) == torch.arange(classes, device=labels.device)[:, None, None]
    wanted = wanted & seen[:, None, None]
    terms = torch.where(wanted, -similarities.log_softmax(1), 0)
    counts = wanted.sum((0, 2, 3))
    present = (sum_over_processes(counts) > 0).sum().clamp(min=1)
    return global_mean(terms.sum((0, 2, 3)), counts).sum() / present


def prototype_tag_loss(similarities: Tensor, tags: Tensor, seen: Tensor) -> Tensor:
    """What tags [B] say of the pixel nearest to a class: similarities [B, K, h, w], class 0 is normal; seen [K].

    Cross-entropy of sigmoid(max_i z_i) with "is tagged lesion", z_i the log-odds of a lesion of any kind at pixel i by
    its similarities, and of sigmoid(max_i -z_i) with "shows something normal", which holds for every image: the mean
    of both over the tagged images.  0 as long as one side has no prototype.
    """
    score = lesion_score(similarities).flatten(1)
    nearest = torch.stack([(-score).amax(1), score.amax(1)], dim=1)
    lesion = tags == LESION
    shown = torch.stack([torch.ones_like(lesion), lesion], dim=1)
    terms = binary_cross_entropy_with_logits(nearest, shown.to(nearest), reduction="none").mean(1)
    counted = (lesion | (tags == NORMAL)) & seen[NORMAL] & seen[LESION:].any()
    return global_mean(torch.where(counted, terms, 0).sum(), counted.sum())
