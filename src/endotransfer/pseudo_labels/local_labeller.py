"""Beyond the paper: labels the images tagged lesion one by one, with the help of local features.

Algorithm 1 sets one threshold a class for the whole target set, and a network that has learnt the tags paints whole
images.  Here every image tagged lesion is split by itself: both classes are in it, and the surest part of each side is
labelled.  Two scorers rank its pixels and estimate the lesion's area: the segmenter, and a linear layer on local
features (models/local_features.py) trained on source masks and target tags (local_layer.py).

* The area is where local scores exceed what normal images practically never reach.
* Where the segmenter, trained on the source alone, already separates the tags, and does so by the right places, it
  needs no such help.  Then Algorithm 1 stands as it is, and only lesions that it misses have a loss of their own
  (`missed_lesion_loss`).  It is not asked where source lesions do not look like those of the target (place_prior.py).

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

FALSE_ALARMS = 0.003  # share of the places of normal images above the limit: three places in a map of 32 x 32
LEAST_AREA, MOST_AREA = 0.02, 0.9  # of an image tagged lesion
ENOUGH_AUROC = 0.7  # of the tags, from which on the segmenter may label alone; chance is 0.5
SUREST = 0.05  # share of an image's places that the segmenter is judged by


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
    """Scores [B, H, W] less their image's mean, in its standard deviations, so that two scorers can be added."""
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
    """The image labeller of one pass: what both scorers say of the whole target set, and the labels that follow."""

    limit: Tensor  # the local score that normal images practically never reach
    tag_auroc: Tensor  # how well the segmenter separates lesion images from normal ones
    localisation_gap: Tensor  # mean `rank_of_surest` of lesion images less that of normal ones
    segmenter_alone: Tensor  # 1: the segmenter labels by dataset thresholds; 0: images are split with local scores

    def __init__(
        self,
        scorer: Callable[[Tensor], Tensor],
        handover: float,
        segmenter_alone: Tensor | None,
        device: torch.device | str | None = None,
        portion: float = 0.5,
        false_alarms: float = FALSE_ALARMS,
    ) -> None:
        """`scorer`: images -> local scores [B, h, w]; `handover`: the segmenter's share in ranking and area, 0 to 1;
        `segmenter_alone`: decided before, None: this pass decides; `device`: where scores will lie; `portion`: of both
        sides of an image that this pass labels; `false_alarms`: share of normal images' places above the limit."""
        self.score, self.handover, self.decided, self.portion = scorer, handover, segmenter_alone, portion
        self.false_alarms = false_alarms
        self.on_normal, self.lesions, self.normals = (ScoreHistogram(device) for _ in range(3))
        self.ranks = torch.zeros(2, 2, dtype=torch.float64, device=device)  # of NORMAL and LESION images: sum, number

    def observe(self, logits: Tensor, scores: Tensor, tags: Tensor) -> None:
        """Both scorers on a batch: logits [B, K, h, w], local scores [B, h, w]."""
        self.on_normal.add(scores, tags == NORMAL)
        places = lesion_score(logits).flatten(1)
        pooled = places.topk(_surest(places)).values.mean(1)
        self.lesions.add(pooled, tags == LESION)
        self.normals.add(pooled, tags == NORMAL)
        rank = rank_of_surest(places, scores.flatten(1)).double()
        for kind in (NORMAL, LESION):
            chosen = tags == kind
            self.ranks[kind] += torch.stack([torch.where(chosen, rank, 0).sum(), chosen.sum()])

    def settle(self) -> None:
        """All batches were observed: set the limit, and decide whether the segmenter labels alone."""
        for histogram in (self.on_normal, self.lesions, self.normals):
            histogram.reduce_over_processes()
        self.limit = self.on_normal.exceeded_by(self.false_alarms)
        self.tag_auroc = auroc(self.lesions, self.normals)
        sums, images = sum_over_processes(self.ranks).unbind(1)
        normal, lesion = sums / images
        self.localisation_gap = (lesion - normal).float()
        # Another camera may separate the tags by chance, but then by places that mean nothing.  Without normal images
        # there is neither figure, nor a limit: then the segmenter labels alone.
        apart = self.tag_auroc.nan_to_num(1.0) >= ENOUGH_AUROC
        localised = self.localisation_gap.nan_to_num(1.0) > 0
        self.segmenter_alone = (apart & localised).float() if self.decided is None else self.decided

    def figures(self) -> dict[str, float]:
        """For the log."""
        found = {
            "segmenter_alone": self.segmenter_alone,
            "tag_auroc": self.tag_auroc,
            "localisation_gap": self.localisation_gap,
            "local_limit": self.limit,
        }
        return {name: float(value) for name, value in found.items()}

    def label(self, logits: Tensor, scores: Tensor, by_threshold: Tensor) -> Tensor:
        """Labels [B, H, W] uint8 of images tagged lesion: logits [B, K, H, W], local scores [B, H, W].

        `by_threshold`: their labels by dataset thresholds, which hold where the segmenter labels alone.
        """
        own, share = lesion_score(logits), self.handover
        area = share * _area(own > 0) + (1 - share) * _area(scores > self.limit)
        score = share * standardised(own) + (1 - share) * standardised(scores)
        labels = label_each_image(score, area, self.portion)
        kind = LESION + logits[:, LESION:].argmax(1)
        labels = torch.where(labels == LESION, kind, labels).to(torch.uint8)
        return torch.where(self.segmenter_alone < 1, labels, by_threshold)


def _surest(places: Tensor) -> int:
    return max(1, math.floor(SUREST * places.shape[1]))


def _area(lesion: Tensor) -> Tensor:
    return lesion.float().mean((1, 2)).clamp(LEAST_AREA, MOST_AREA)
