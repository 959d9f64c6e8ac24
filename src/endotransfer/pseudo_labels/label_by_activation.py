"""One pass over the target set that labels it by class activation maps: the surest places of both sides of an image."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.distributed import sum_over_processes
from endotransfer.models.activation_maps import normalised
from endotransfer.pseudo_labels.pixel_refinement import DILATIONS, refine_by_colour
from endotransfer.pseudo_labels.rules import veto
from endotransfer.pseudo_labels.target_set import TargetSet

FIGURES = ("coverage", "normal_in_lesion_images", "lesion_in_lesion_images")
LARGEST = 224  # the shorter side of images that maps are refined by, at most: ToCo's
FURTHEST = 8  # neighbours are no further away than the shorter side's share of this, as in ToCo
AT_ONCE = 8  # images: the neighbours' colours take 144 numbers a pixel


def activation_labels(maps: Tensor, tags: Tensor, low: float, high: float) -> Tensor:
    """Normalised maps [B, H, W] and tags [B] -> labels [B, H, W] uint8.

    Tagged lesion: lesion above `high`, normal below `low`, IGNORE between; nothing where the map is 0 throughout,
    because then S1 has found nothing, which is no reason to call it all normal.  Tagged normal: normal all over.
    """
    unlabelled = torch.full_like(maps, IGNORE, dtype=torch.uint8)
    labels = unlabelled.masked_fill(maps > high, LESION).masked_fill(maps < low, NORMAL)
    shown = (tags == LESION) & (maps.amax((1, 2)) > 0)
    return veto(torch.where(shown.view(-1, 1, 1), labels, unlabelled), tags, fill_normal=True)


def refined(maps: Tensor, images: Tensor) -> Tensor:
    """Maps [B, H, W] refined by the colours of images [B, 3, H, W].

    Distances of neighbours are in pixels: large images are reduced, in small ones only the nearer neighbours count.
    """
    size = maps.shape[-2:]
    scale = min(1.0, LARGEST / min(size))
    small = (max(1, round(scale * size[0])), max(1, round(scale * size[1])))
    dilations = [distance for distance in DILATIONS if distance <= max(1, min(small) // FURTHEST)]
    parts = zip(*(torch.split(_at(part, small), AT_ONCE) for part in (maps[:, None], images)), strict=True)
    better = [refine_by_colour(some.squeeze(1), colours, dilations) for some, colours in parts]
    return _at(torch.cat(better)[:, None], size).squeeze(1)


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
    """Label every image by its `activation` (images [B, 3, H, W] -> [B, H, W], from 0 up) and store it.

    Refinement comes before normalisation: means are lower than what they are of, and small lesions would vanish.
    Returns figures for the log: the share of all pixels that are labelled, and of each side in images tagged lesion.
    `device`: where the images are.
    """
    counts = torch.zeros(len(FIGURES) + 2, dtype=torch.int64, device=device)
    for batch in target:
        assert batch.tags is not None
        found = activation(batch.images)
        maps = normalised(refined(found, batch.images) if refine else found)
        labels = activation_labels(maps, batch.tags, low, high)
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


def _at(maps: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """Maps [B, C, h, w] at another size."""
    return interpolate(maps, size=tuple(size), mode="bilinear", align_corners=False)
