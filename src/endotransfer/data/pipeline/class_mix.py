"""ClassMix (Olsson et al., WACV 2021; across domains in DACS, Tranheden et al., WACV 2021): which pixels of a labelled
image are pasted onto another image.  Half of the classes that it shows, chosen at random."""

import torch
from torch import Tensor

from endotransfer.label_values import IGNORE


def chosen_classes(masks: Tensor, chances: Tensor) -> Tensor:
    """Half of the classes that each mask [B, H, W] shows, rounded up: those of lowest chances [B, K] -> bool [B, K].

    Of normal and lesion that is one of the two, either as often.  A single class is no half: pasted, it would hide the
    other image entirely, so nothing is chosen.  Pixels that nobody labelled are of no class.
    """
    shown = torch.zeros(len(masks), IGNORE + 1, device=masks.device).scatter_(1, masks.flatten(1), 1.0)
    present = shown[:, : chances.shape[1]] > 0
    rank = chances.where(present, torch.inf).argsort(dim=1, stable=True).argsort(dim=1)
    count = present.sum(1, keepdim=True)
    return (rank < (count + 1) // 2) & (count > 1)


def pixels_of(masks: Tensor, chosen: Tensor) -> Tensor:
    """Where masks [B, H, W] show a class that is chosen, bool [B, K]: bool [B, H, W]; never where nobody labelled."""
    by_label = chosen.new_zeros(len(chosen), IGNORE + 1)
    by_label[:, : chosen.shape[1]] = chosen
    return by_label.gather(1, masks.flatten(1)).view_as(masks)
