"""Super-pixel landmarks (Zhang, David, Gong, "Curriculum Domain Adaptation", ICCV 2017): the super-pixels of a target
image that a classifier is surest of take its label, and each counts alike, whatever its size and class.

Super-pixels [B, H, W] are called 0 ... S - 1, S one more than the largest name of the batch; a name may be nobody's.
"""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, at_least_float32
from endotransfer.losses.label_distribution import counts_by_row

ROUNDING = 1e-9  # so that 60 % of 5 are 3 and not, by a last digit, 4


def region_means(features: Tensor, superpixels: Tensor) -> tuple[Tensor, Tensor]:
    """Features [B, C, h, w] averaged over each super-pixel's pixels, a cell's value being that of all pixels in it:
    means [B, S, C], and areas [B, S] in pixels.

    As a matrix product with each cell's share of a super-pixel: features at the image's size would fill a GPU.
    """
    names, (height, width) = int(superpixels.max()) + 1, features.shape[-2:]
    rows, columns = (
        torch.arange(side, device=features.device) * cells // side
        for side, cells in zip(superpixels.shape[-2:], (height, width), strict=True)
    )
    cell = (rows[:, None] * width + columns).flatten()
    areas = counts_by_row(superpixels.flatten(1).long(), names)
    means = []
    with torch.autocast(features.device.type, enabled=False):
        for image, regions, area in zip(
            at_least_float32(features).flatten(2), superpixels.flatten(1), areas, strict=True
        ):
            together = counts_by_row((regions.long() * height * width + cell)[None], names * height * width)
            shares = together.view(names, -1) / area.clamp(min=1)[:, None]
            means.append(shares.to(image.dtype) @ image.T)
    return torch.stack(means), areas


def region_labels(masks: Tensor, superpixels: Tensor, classes: int) -> Tensor:
    """The commonest class among each super-pixel's labelled pixels: masks [B, H, W] -> [B, S]; IGNORE without any."""
    names = int(superpixels.max()) + 1
    labels = masks.flatten(1).long()
    together = superpixels.flatten(1).long() * (classes + 1) + labels.where(labels != IGNORE, classes)
    counts = counts_by_row(together, names * (classes + 1)).view(len(masks), names, -1)[..., :classes]
    most, label = counts.max(2)
    return label.where(most > 0, IGNORE)


def confident_landmarks(scores: Tensor, areas: Tensor, superpixels: Tensor, share: float = 0.6) -> Tensor:
    """Scores [B, S, K] of super-pixels with `areas` [B, S] -> labels [B, H, W] uint8, IGNORE off the landmarks.

    In each image the `share` of super-pixels with the largest maximum (the number rounded up, equals in order of their
    names) get the class of that maximum.
    """
    confidence, label = scores.max(2)
    confidence = confidence.where(areas > 0, -torch.inf)  # a name that no pixel bears comes last
    rank = confidence.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    wanted = ((areas > 0).sum(1, keepdim=True).double() * share - ROUNDING).ceil()
    label = label.where(rank < wanted, IGNORE).to(torch.uint8)
    return label.gather(1, superpixels.flatten(1).long()).view(superpixels.shape)


def landmark_weights(labels: Tensor, superpixels: Tensor, classes: int) -> Tensor:
    """Pixel weights [B, H, W] of labels [B, H, W] in super-pixels [B, H, W], each image by itself.

    (the mean area of super-pixels / the area of this one) x (labelled pixels of a present class on average / those of
    this class); 0 where nothing is labelled.
    """
    names, label = superpixels.flatten(1), labels.flatten(1).long()
    # As many counters as pixels, and one for what augmentation puts outside: the largest name would have to be fetched.
    areas = counts_by_row(names, names.shape[1] + 1)
    mean_area = names.shape[1] / (areas > 0).sum(1, keepdim=True)
    labelled = label < classes
    label = label.where(labelled, classes)
    counts = counts_by_row(label, classes + 1)
    present = (counts[:, :classes] > 0).sum(1, keepdim=True)
    mean_count = labelled.sum(1, keepdim=True) / present.clamp(min=1)
    weights = mean_area / areas.gather(1, names) * mean_count / counts.gather(1, label)
    return weights.where(labelled, 0.0).view(labels.shape)
