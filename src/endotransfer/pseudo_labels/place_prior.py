"""Beyond the paper: where in an image source masks have their lesions, and what that says to the local layer.

Whoever holds an endoscope keeps what matters in the middle, in every domain.  That is little, but it needs no
features, so that no camera and no other kind of lesion misleads it:

* the prior is added to the scores of the local layer;
* where a layer that knows source masks alone does not separate the target's tags, source lesions do not look like
  target lesions.  Then the layer learns from target tags alone, and the prior leads: it has a say in which places of a
  lesion image are taken for the likeliest ones (`local_layer.target_loss`).
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.distributed import sum_over_processes
from endotransfer.pseudo_labels.local_labeller import ENOUGH_AUROC, SUREST
from endotransfer.pseudo_labels.local_layer import Examples, fit, spread_in_lesion_images
from endotransfer.pseudo_labels.score_histogram import ScoreHistogram, auroc

PlacePrior = Literal["auto", "add", "lead", "off"]
GRID = 32  # rows and columns of the prior
# Of the prior, in units of how far local scores spread within an image tagged lesion: added to them; leading their fit.
ADDED, LEADING = 0.5, 1.0
RARE, COMMON = 0.005, 0.9  # shares between which a place is told from others
SOURCE_STEPS = 0.5  # of the steps, for the layer that knows source masks alone; after fewer it separates tags less


@dataclass(frozen=True)
class TaughtLayer:
    """The local layer, and what is added to its scores."""

    weight: Tensor  # [C]
    bias: Tensor  # [1]
    places: Tensor  # [GRID, GRID]
    source_auroc: Tensor  # of the target's tags, by the layer that knows source masks alone; nan: nothing to decide by
    led: bool  # the prior led


def teach_with_places(source: Examples, target: Examples, steps: int, use: PlacePrior) -> TaughtLayer:
    """Fit the local layer, with the help of the source's places as far as `use` says."""
    prior = lesion_places(source)
    if use == "off":
        weight, bias = fit(source, target, steps)
        return TaughtLayer(weight, bias, torch.zeros_like(prior), torch.full_like(prior[0, 0], math.nan), led=False)
    known = tag_auroc(target, *fit(source, Examples(), max(1, round(SOURCE_STEPS * steps))))
    # Without normal images, or without lesions in source masks, nothing speaks against the source.
    led = use == "lead" or (use == "auto" and bool(known < ENOUGH_AUROC) and bool(prior.any()))
    weight, bias = fit(source, target, steps, lead=LEADING * at_grid(prior, source.grid).flatten() if led else None)
    spread = spread_in_lesion_images(target.scores(weight, bias), target.all_known(bias))
    return TaughtLayer(weight, bias, ADDED * spread * prior, known, led)


def lesion_places(source: Examples) -> Tensor:
    """[GRID, GRID]: the log-odds that a lesion covers a place, over source images with one; mean 0, deviation 1.

    Averaged over all turns and mirror images, for which way is up differs from one kind of endoscopy to another.
    Zero where source masks hold no lesion.
    """
    total = source.described[0].new_zeros(GRID, GRID, dtype=torch.float32)
    images = total.new_zeros(())
    for masks in source.known:
        lesion = ((masks != NORMAL) & (masks != IGNORE)).float().view(-1, 1, *source.grid)
        total += interpolate(lesion, size=(GRID, GRID), mode="area").sum((0, 1))
        images += lesion.flatten(1).any(1).sum()
    total, images = sum_over_processes(total), sum_over_processes(images)
    turns = [torch.rot90(total, quarter) for quarter in range(4)]
    share = torch.stack(turns + [turned.flip(0) for turned in turns]).mean(0) / images.clamp(min=1)
    odds = share.clamp(RARE, COMMON).logit()
    deviation, mean = torch.std_mean(odds, correction=0)
    return torch.where(deviation > 0, (odds - mean) / deviation.clamp(min=1e-6), 0)


def at_grid(places: Tensor, grid: tuple[int, int] | torch.Size) -> Tensor:
    """Places [GRID, GRID] on the grid of scores [h, w]."""
    return interpolate(places[None, None], size=tuple(grid), mode="bilinear", align_corners=False)[0, 0]


def tag_auroc(target: Examples, weight: Tensor, bias: Tensor) -> Tensor:
    """How well the layer separates the target's tags, by the SUREST places of each image; nan without both kinds."""
    scores = target.scores(weight, bias)
    tags = target.all_known(scores)
    pooled = scores.topk(max(1, math.floor(SUREST * scores.shape[1]))).values.mean(1)
    lesions, normals = (ScoreHistogram(scores.device) for _ in range(2))
    for histogram, kind in ((lesions, LESION), (normals, NORMAL)):
        histogram.add(pooled, tags == kind)
        histogram.reduce_over_processes()
    return auroc(lesions, normals).float()
