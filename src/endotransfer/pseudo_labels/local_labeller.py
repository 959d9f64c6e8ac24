"""Beyond the paper: where in an image that is tagged lesion the lesion is.

Algorithm 1 sets one threshold for the whole target set, and a network that has learnt the tags paints whole images.
Here every image tagged lesion is split by itself: both classes are in it, and the surest part of each side is labelled.
What ranks its pixels and how large its lesion is come from two scorers, the segmenter and a linear layer on local
features (models/local_view.py) which source masks and target tags have taught (transfer/local_layer.py), its scores
spread among neighbours of like colour (transfer/spreading.py):

* its score that the pixels of normal images practically never reach says how much of an image is lesion;
* whether the segmenter, while it knows the source alone, tells lesion images from normal ones, and by the right places,
  says whether it needs that help.  One that does so needs none: there Algorithm 1 stands as it is, and only lesions
  that it misses have a loss of their own (`missed_lesion_loss`).

Scores are [B, h, w], tags [B]; everything is summed over processes.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.distributed import sum_over_processes
from endotransfer.losses.lesion_odds import lesion_score
from endotransfer.pseudo_labels.score_histogram import ScoreHistogram, auroc

FALSE_ALARMS = 0.0003  # of the places of normal images exceed the limit: three places in ten maps of 32 x 32
LEAST_AREA, MOST_AREA = 0.02, 0.9  # of an image tagged lesion
BELIEVED = 0.7  # AUROC of the tags from which on the segmenter alone may be believed; chance is 0.5
SUREST = 0.05  # of an image's places: what the segmenter stands for


def label_each_image(score: Tensor, area: Tensor, portion: float) -> Tensor:
    """Algorithm 1 within an image: scores [B, H, W], the lesion's share of each image [B] -> labels [B, H, W] uint8.

    Of the `area` places that score highest the first `portion` are LESION, of the others the last `portion` are NORMAL,
    and what lies between is left open.  Places that tie with the first one left out are left out too, so that an image
    without any contrast gets no label.
    """
    flat = score.flatten(1)
    ordered, pixels = flat.sort(1).values, flat.shape[1]
    below_lesion = (pixels - 1 - (portion * area * pixels).round().long().clamp(min=1)).clamp(min=0)
    above_normal = (portion * (1 - area) * pixels).round().long().clamp(0, pixels - 1)
    most_open, least_open = (ordered.gather(1, place.unsqueeze(1)) for place in (below_lesion, above_normal))
    labels = torch.where(flat < least_open, NORMAL, IGNORE)
    return torch.where(flat > most_open, LESION, labels).view_as(score).to(torch.uint8)


def standardised(scores: Tensor) -> Tensor:
    """Scores [B, H, W] less their image's mean, in its deviations: so two scorers can be added."""
    deviation, mean = torch.std_mean(scores, dim=(1, 2), keepdim=True, correction=0)
    return (scores - mean) / deviation.clamp(min=1e-3)


def rank_of_surest(own: Tensor, local: Tensor) -> Tensor:
    """How high the segmenter's SUREST places rank among local scores: both [B, P] -> [B]; 0 lowest, 1 highest."""
    chosen = local.gather(1, own.topk(_surest(own)).indices)
    ordered = local.sort(1).values
    # Places that tie share the ranks that they take together.
    below, up_to = (torch.searchsorted(ordered, chosen, right=right) for right in (False, True))
    return (below + up_to).float().mean(1) / (2 * local.shape[1])


class LocalLabeller:
    """What both scorers said of the whole target set, and what follows for each image that is tagged lesion."""

    limit: Tensor
    tag_auroc: Tensor  # how well the segmenter tells lesion images from normal ones
    localisation_gap: Tensor  # how much better both agree in lesion images than in normal ones: mean `rank_of_surest`
    believed: Tensor  # 1: the segmenter alone is, from the start; 0: it needs the other scorer

    def __init__(
        self,
        look: Callable[[Tensor], Tensor],
        handed_over: float,
        trust: Tensor | None,
        device: torch.device | str | None = None,
        portion: float = 0.5,
        false_alarms: float = FALSE_ALARMS,
    ) -> None:
        """`look`: images -> local scores [B, h, w]; `handed_over`: how far the segmenter has taken over, from 0 to 1;
        `trust`: whether it alone is believed, None where this pass is to judge; `device`: where scores will lie;
        `portion`: of both sides of an image that this pass labels; `false_alarms`: how much of normal images may exceed
        the limit."""
        self.look, self.handed_over, self.trust, self.portion = look, handed_over, trust, portion
        self.false_alarms = false_alarms
        self.on_normal, self.lesions, self.normals = (
            ScoreHistogram(device),
            ScoreHistogram(device),
            ScoreHistogram(device),
        )
        self.ranks = torch.zeros(2, 2, dtype=torch.float64, device=device)  # of NORMAL and LESION images: sum, number

    def hear(self, logits: Tensor, local: Tensor, tags: Tensor) -> None:
        """Both scorers on a batch: logits [B, K, h, w], local scores [B, h, w]."""
        self.on_normal.add(local, tags == NORMAL)
        places = lesion_score(logits).flatten(1)
        pooled = places.topk(_surest(places)).values.mean(1)
        self.lesions.add(pooled, tags == LESION)
        self.normals.add(pooled, tags == NORMAL)
        rank = rank_of_surest(places, local.flatten(1)).double()
        for kind in (NORMAL, LESION):
            chosen = tags == kind
            self.ranks[kind] += torch.stack([torch.where(chosen, rank, 0).sum(), chosen.sum()])

    def settle(self) -> None:
        """When all were heard: the score that normal images do not reach, and whom to lesion_labeller."""
        for tally in (self.on_normal, self.lesions, self.normals):
            tally.reduce_over_processes()
        self.limit = self.on_normal.exceeded_by(self.false_alarms)
        self.tag_auroc = auroc(self.lesions, self.normals)
        sums, images = sum_over_processes(self.ranks).unbind(1)
        normal, lesion = sums / images
        self.localisation_gap = (lesion - normal).float()
        # Another camera may part the tags by chance, but then by places that mean nothing.  Without normal images there
        # is neither figure, nor a limit: then the segmenter alone is believed.
        apart, rightly = self.tag_auroc.nan_to_num(1.0) >= BELIEVED, self.localisation_gap.nan_to_num(1.0) > 0
        self.believed = (apart & rightly).float() if self.trust is None else self.trust

    def figures(self) -> dict[str, float]:
        """For the log."""
        found = {"trust": self.believed, "tag_auroc": self.tag_auroc, "localisation_gap": self.localisation_gap}
        return {name: float(value) for name, value in (found | {"local_limit": self.limit}).items()}

    def label(self, logits: Tensor, local: Tensor, by_set: Tensor) -> Tensor:
        """Labels [B, H, W] uint8 of images tagged lesion: logits [B, K, H, W], local scores [B, H, W].

        `by_set`: their labels by the thresholds of the whole set, which hold where the segmenter alone is believed.
        """
        own, share = lesion_score(logits), self.handed_over
        area = share * _area(own > 0) + (1 - share) * _area(local > self.limit)
        score = share * standardised(own) + (1 - share) * standardised(local)
        labels = label_each_image(score, area, self.portion)
        kind = LESION + logits[:, LESION:].argmax(1)
        labels = torch.where(labels == LESION, kind, labels).to(torch.uint8)
        return torch.where(self.believed < 1, labels, by_set)


def _surest(places: Tensor) -> int:
    return max(1, math.floor(SUREST * places.shape[1]))


def _area(lesion: Tensor) -> Tensor:
    return lesion.float().mean((1, 2)).clamp(LEAST_AREA, MOST_AREA)
