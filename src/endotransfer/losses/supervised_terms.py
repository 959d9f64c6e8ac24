"""The supervised terms that most methods share: Equations 2 and 3 on what each domain gives away.  No method itself."""

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, NORMAL, SegOutput, SourceBatch, TargetBatch
from endotransfer.losses.cross_entropy import Reduction, classification, segmentation
from endotransfer.losses.tag_loss import missed_lesion_loss, tag_loss


def source_terms(
    source: SourceBatch, output: SegOutput, logits: Tensor | None = None, reduction: Reduction = "mean"
) -> dict[str, Tensor]:
    """Masks of the first images and tags of all; `logits` [B, K, H, W]: the output at the images' size, if at hand."""
    logits = output.at(source.images.shape[-2:]) if logits is None else logits
    terms = {"segmentation_source": segmentation(logits[: len(source.masks)], source.masks, reduction)}
    if output.tag_logits is not None and source.tags is not None:  # without tags there is no S1
        terms["classification_source"] = classification(output.tag_logits, source.tags)
    return terms


def target_tag_term(target: TargetBatch, output: SegOutput) -> dict[str, Tensor]:
    """The classifier on the target's tags; empty in a task without tags."""
    if output.tag_logits is None or target.tags is None:
        return {}
    return {"classification_target": classification(output.tag_logits, target.tags)}


def pixel_tag_term(weight: float, target: TargetBatch, logits: Tensor) -> dict[str, Tensor]:
    """Pixels supervised by the target's tags: logits [B, K, H, W]; empty without a weight, or without tags."""
    if not weight or target.tags is None:
        return {}
    return {"tags": weight * tag_loss(logits, target.tags, target.stored)}


def normal_term(weight: float, target: TargetBatch, logits: Tensor) -> dict[str, Tensor]:
    """A target image tagged normal is a whole mask: cross-entropy of normal on all its pixels; logits [B, K, H, W]."""
    if not weight or target.tags is None:
        return {}
    by_image = torch.where(target.tags == NORMAL, NORMAL, IGNORE).view(-1, 1, 1)
    return {"normal_target": weight * segmentation(logits, by_image.expand_as(logits[:, 0]))}


def missed_term(weight: float, target: TargetBatch, logits: Tensor) -> dict[str, Tensor]:
    """Lesions that tags tell of and the prediction misses: logits [B, K, H, W]; empty without a weight, or tags."""
    if not weight or target.tags is None:
        return {}
    return {"missed": weight * missed_lesion_loss(logits, target.tags)}
