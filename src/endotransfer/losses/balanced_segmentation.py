"""Pixel labels that are mostly of one side: normal tissue and lesions have an equal say."""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, NORMAL
from endotransfer.losses.cross_entropy import segmentation


def segmentation_by_side(logits: Tensor, labels: Tensor) -> Tensor:
    """Half the mean cross-entropy of pixels labelled normal, and half that of all others (ToCo, Ru et al., CVPR 2023).

    Logits [B, K, H, W], labels [B, H, W]; IGNORE is passed over, and a side without labels gives 0.
    """
    labels = labels.long()
    normal = torch.where(labels == NORMAL, labels, IGNORE)
    lesion = torch.where(labels == NORMAL, IGNORE, labels)
    return 0.5 * (segmentation(logits, normal) + segmentation(logits, lesion))
