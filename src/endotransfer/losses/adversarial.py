"""Equation 6: the critic D tells domains apart by their segmentation, and the segmenter learns to fool it.

D's scores are logits of "is target", of any shape.  Expectations are means over all cells and processes.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean


def critic_loss(score_source: Tensor, score_target: Tensor) -> Tensor:
    """What D minimises: -E[log D(target)] - E[log(1 - D(source))], the negative of Eq. 6."""
    return _scored_as(0.0, score_source) + _scored_as(1.0, score_target)


def fooling_loss(score_target: Tensor) -> Tensor:
    """What the segmenter minimises: -E[log(1 - D(target))]; target is to score as source."""
    # PAPER: minimising Eq. 6 itself would ask for E[log D(target)], whose gradient fades just where D is sure;
    # this is the non-saturating form.  Only the target term reaches the segmenter.
    return _scored_as(0.0, score_target)


def critic_accuracy(score_source: Tensor, score_target: Tensor) -> Tensor:
    """The share of cells whose domain D tells right, a score of 0 being half right: the mean over both domains."""
    of_source, of_target = (at_least_float32(score).sign().mean() for score in (score_source, score_target))
    return 0.5 + 0.25 * (of_target - of_source)


def _scored_as(domain: float, score: Tensor) -> Tensor:
    score = at_least_float32(score)
    loss = binary_cross_entropy_with_logits(score, torch.full_like(score, domain), reduction="sum")
    return global_mean(loss, loss.new_full((), score.numel()))  # a plain number would make a GPU's host wait


def fool(critic: nn.Module, memo: dict[str, Tensor], source: Tensor, target: Tensor) -> Tensor:
    """The segmenter's side on logits [B, K, H, W] of both domains; `memo` keeps the maps for the critic's own turn."""
    memo["source"] = source.detach().softmax(1)
    probabilities = target.softmax(1)
    memo["target"] = probabilities.detach()
    return fooling_loss(critic(probabilities))


def tell_apart(critic: nn.Module, memo: dict[str, Tensor]) -> Tensor:
    """The critic's side, on the maps that `fool` kept."""
    scores = critic(torch.cat([memo["source"], memo["target"]]))
    return critic_loss(*scores.split([len(memo["source"]), len(memo["target"])]))
