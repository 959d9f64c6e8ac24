"""One pass over the target set that labels it by class activation maps: the surest places of both sides of an image."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.distributed import sum_over_processes
from endotransfer.models.activation_maps import normalised
from endotransfer.pseudo_labels.pixel_refinement import refine_by_colour
from endotransfer.pseudo_labels.rules import veto
from endotransfer.pseudo_labels.target_set import TargetSet

FIGURES = ("coverage", "normal_in_lesion_images", "lesion_in_lesion_images")
STRIDE = 2  # refinement runs on images of half the size, as in ToCo


def activation_labels(maps: Tensor, tags: Tensor, low: float, high: float) -> Tensor:
    """Normalised maps [B, H, W] and tags [B] -> labels [B, H, W] uint8.

    Tagged lesion: lesion above `high`, normal below `low`, IGNORE between; nothing where the map is 0 throughout,
    because then S1 has found nothing, which is no reason to call it all normal.  Tagged normal: normal all over.
    """
    labels = torch.full_like(maps, IGNORE, dtype=torch.uint8)
    labels = torch.where(maps < low, NORMAL, torch.where(maps > high, LESION, labels)).to(torch.uint8)
    shown = (tags == LESION) & (maps.amax((1, 2)) > 0)
    labels = torch.where(shown.view(-1, 1, 1), labels, IGNORE).to(torch.uint8)
    return veto(labels, tags, fill_normal=True)


def refined(maps: Tensor, images: Tensor) -> Tensor:
    """Maps [B, H, W] refined by the colours of images [B, 3, H, W], at half their size."""
    size, half = maps.shape[-2:], [max(1, side // STRIDE) for side in maps.shape[-2:]]
    small, colours = (
        interpolate(part, size=half, mode="bilinear", align_corners=False) for part in (maps[:, None], images)
    )
    better = refine_by_colour(small.squeeze(1), colours)
    return interpolate(better[:, None], size=size, mode="bilinear", align_corners=False).squeeze(1)


@torch.no_grad()
def label_by_activation(
    activation: Callable[[Tensor], Tensor],
    target: TargetSet,
    low: float,
    high: float,
    *,
    refine: bool = True,
    device: torch.device | str = "cpu",
) -> dict[str, float]:
    """Label every image by its `activation` (images [B, 3, H, W] -> [B, H, W]) and store it; figures for the log.

    Figures: the share of all pixels that are labelled, and of each side in images tagged lesion.  `device`: where the
    images are.
    """
    counts = torch.zeros(len(FIGURES) + 2, dtype=torch.int64, device=device)
    for batch in target:
        assert batch.tags is not None
        maps = normalised(activation(batch.images))
        labels = activation_labels(refined(maps, batch.images) if refine else maps, batch.tags, low, high)
        target.store(batch.keys, labels)
        counts += _count(labels, batch.tags)
    *labelled, pixels, of_lesion = sum_over_processes(counts).tolist()
    totals = (pixels, of_lesion, of_lesion)
    return {name: count / max(1, total) for name, count, total in zip(FIGURES, labelled, totals, strict=True)}


def _count(labels: Tensor, tags: Tensor) -> Tensor:
    """Pixels that FIGURES speak of, all pixels, and those of images tagged lesion."""
    lesion = (tags == LESION).view(-1, 1, 1).expand_as(labels)
    parts = [labels != IGNORE, lesion & (labels == NORMAL), lesion & (labels == LESION)]
    return torch.stack([part.sum() for part in (*parts, torch.ones_like(lesion), lesion)])
