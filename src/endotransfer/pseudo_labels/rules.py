"""Rules that refine the labels of a pass, applied in the order in which a method lists them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, NORMAL
from endotransfer.pseudo_labels.vote import vote_in_place, vote_superpixels, vote_synchronously

Voting = Literal["none", "in_place", "synchronous", "superpixel"]


@dataclass(frozen=True)
class RuleContext:
    """What a rule may know of the images whose labels it refines."""

    classes: int
    tags: Tensor | None  # [B], on the labels' device
    superpixels: Callable[[], Tensor]  # [B, H, W]; computed or read only when called


class LabelRule(Protocol):
    def __call__(self, labels: Tensor, context: RuleContext) -> Tensor:
        """Labels [B, H, W] uint8 -> refined labels of the same shape; IGNORE: no label."""
        ...


# PAPER: tags feed L_C only, and "seed information" is named without being defined.
def veto(labels: Tensor, tags: Tensor, fill_normal: bool = False) -> Tensor:
    """Remove lesion labels from images that are tagged normal: labels [B, H, W], tags [B] -> labels.

    With `fill_normal` every pixel of such an image becomes normal (class 0), labelled before or not.
    """
    normal = (tags == NORMAL).view(-1, 1, 1)
    replacement = torch.full_like(labels, NORMAL if fill_normal else IGNORE)
    return torch.where(normal & (fill_normal | (labels != NORMAL)), replacement, labels)


@dataclass(frozen=True)
class TagRule:
    """Beyond the paper: an image tagged normal has no lesion label; with `fill_normal` all of it is labelled normal."""

    fill_normal: bool = True

    def __call__(self, labels: Tensor, context: RuleContext) -> Tensor:
        return labels if context.tags is None else veto(labels, context.tags, self.fill_normal)


@dataclass(frozen=True)
class VoteRule:
    """Algorithm 2 in one of its forms (`vote.py`).  List it last: a label that a tag forbids must not spread first."""

    voting: Voting
    iterations: int = 1

    def __call__(self, labels: Tensor, context: RuleContext) -> Tensor:
        if self.voting == "none":
            return labels
        superpixels = context.superpixels()
        if self.voting == "in_place":
            array, segments = labels.cpu().numpy(), superpixels.cpu().numpy()
            for _ in range(self.iterations):
                vote_in_place(array, segments, context.classes)
            return torch.from_numpy(array).to(labels.device)
        segments_here = superpixels.to(labels.device)
        if self.voting == "synchronous":
            return vote_synchronously(labels, segments_here, context.classes, self.iterations)
        return vote_superpixels(labels, segments_here, context.classes)
