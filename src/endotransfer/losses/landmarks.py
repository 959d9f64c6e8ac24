"""Super-pixel landmarks (Zhang, David, Gong, "Curriculum Domain Adaptation", ICCV 2017): the super-pixels of a target
image that the network is surest of take its label, and each counts alike, whatever its size and class."""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.losses.label_distribution import counts_by_row

ROUNDING = 1e-9  # so that 60 % of 5 are 3 and not, by a last digit, 4


def confident_landmarks(probabilities: Tensor, superpixels: Tensor, share: float = 0.6) -> Tensor:
    """Probabilities [B, K, H, W], super-pixels [B, H, W] -> labels [B, H, W] uint8, IGNORE off the landmarks.

    A super-pixel's probabilities are the means over its pixels; in each image the `share` of super-pixels with the
    largest maximum (the number rounded up, equals in order of their names) get the class of that maximum.
    """
    means, areas = _means(probabilities, superpixels)
    confidence, label = means.max(2)
    confidence = confidence.where(areas > 0, -1.0)  # a name that no pixel bears comes last
    rank = confidence.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    wanted = ((areas > 0).sum(1, keepdim=True).double() * share - ROUNDING).ceil()
    label = label.where(rank < wanted, IGNORE).to(torch.uint8)
    return label.gather(1, superpixels.flatten(1)).view_as(superpixels)


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


def _means(probabilities: Tensor, superpixels: Tensor) -> tuple[Tensor, Tensor]:
    """Means [B, S, K] over each super-pixel, S one more than the largest name, and areas [B, S]."""
    images, classes = probabilities.shape[:2]
    names = int(superpixels.max()) + 1
    first = torch.arange(images, device=superpixels.device).view(-1, 1, 1) * names
    # In float64, where the order of a GPU's sums cannot be seen.
    sums = torch.zeros(images * names, classes, dtype=torch.float64, device=probabilities.device)
    sums.index_add_(0, (superpixels + first).flatten(), probabilities.double().movedim(1, -1).flatten(0, 2))
    areas = counts_by_row(superpixels.flatten(1), names)
    return sums.view(images, names, classes) / areas.clamp(min=1).unsqueeze(2), areas
