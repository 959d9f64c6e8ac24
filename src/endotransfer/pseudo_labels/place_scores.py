"""What the place prior (place_prior.py) added to a run: its share of the local scores, and the words for it."""

import torch
from torch import Tensor, nn

from endotransfer.pseudo_labels.labeller_choice import UNKNOWN
from endotransfer.pseudo_labels.local_labeller import ENOUGH_AUROC
from endotransfer.pseudo_labels.place_prior import GRID, PlacePrior, TaughtLayer, at_grid


class PlaceScores(nn.Module):
    """Local scores [B, h, w] -> the same and the prior's share.  Saved with the weights."""

    places: Tensor  # [GRID, GRID], in units of local scores
    source_auroc: Tensor  # of the target's tags, by a layer that knows source masks alone
    led: Tensor  # 1: the local layer learnt from the target's tags alone, led by the prior

    def __init__(self, wanted: PlacePrior) -> None:
        super().__init__()
        self.wanted = wanted
        self.register_buffer("places", torch.zeros(GRID, GRID))
        self.register_buffer("source_auroc", torch.tensor(UNKNOWN))
        self.register_buffer("led", torch.tensor(0.0))

    def take(self, taught: TaughtLayer) -> None:
        self.places.copy_(taught.places)
        self.source_auroc.copy_(taught.source_auroc.nan_to_num(UNKNOWN))
        self.led.fill_(float(taught.led))

    def forward(self, scores: Tensor) -> Tensor:
        return scores + at_grid(self.places, scores.shape[-2:])

    def misled(self) -> bool:
        """Whether source lesions were found not to look like those of the target."""
        return self.wanted == "auto" and bool(self.led > 0)

    def figures(self) -> dict[str, object]:
        """For results.json, beside those of the labeller."""
        auroc = self.source_auroc.item()
        return {"place_prior_led": bool(self.led > 0), "source_tag_auroc": None if auroc == UNKNOWN else auroc}

    def sentences(self) -> list[str]:
        """For people: what the local layer learnt from, why, and how to change it; nothing without the prior."""
        auroc = self.source_auroc.item()
        if self.wanted == "none" or not self.places.any():
            return []
        learnt = "target tags alone, led by" if self.led > 0 else "source masks and target tags, and adds"
        if self.wanted != "auto":
            why = "as method.place_prior says"
        elif auroc == UNKNOWN:
            why = "because target images carry only one kind of tag, so there is nothing to decide by"
        else:
            other = "add" if self.led > 0 else "lead"
            why = (
                f"because source masks alone separate the target's tags with an AUROC of {auroc:.2f} ({ENOUGH_AUROC} "
                f"is required to learn from them); method.place_prior={other} overrides this"
            )
        return [f"the local layer learns from {learnt} the places of lesions in source masks, {why}."]
