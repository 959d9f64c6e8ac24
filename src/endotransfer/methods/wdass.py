"""WDASS: Das, Xian, Dai, Schiele, "Weakly-Supervised Domain Adaptive Semantic Segmentation with Prototypical
Contrastive Learning", CVPR 2023, with image tags as the weak labels.

Faithful: a prototype for each class and domain, of pixels weighted by their likeness to their class's mean, from source
masks and from the mean teacher's labels of at least 95 % confidence; pixels are drawn to prototypes by InfoNCE
(temperature 0.1) within each domain (weight 0.25 each), and those of the source to the target's (0.5), never the other
way round: target features lead.  Image tags act on the pixel nearest to each prototype; both start after 1/15 of all
steps; the network learns the teacher's labels.
Designed here: prototypes are moving averages (the released code computes them anew in every step); one confidence for
prototypes and labels (there 0.95 and 0.968); pixel features are those that the pixel classifier sees, in place of a
projection of the backbone's; every labelled cell is contrasted, the classes with equal weight, where the original
samples 20 a class and image, wrong ones first; the tag loss takes the largest log-odds of an image, where the original
averages exponentials of single similarities, which a small lesion cannot lift; images tagged normal are labelled normal
everywhere, which is what their tag says; the teacher predicts.
Left out: mixing of source and target images (DACS, a system of its own), strong augmentation, the edge loss, and the
tag loss on the classifier's own scores.  Without tags it is the unsupervised half: no tag loss, and labels of the
teacher alone.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import IGNORE, Batch, SegOutput, SourceBatch, TargetBatch, at_least_float32
from endotransfer.config import Strict
from endotransfer.losses.centroids import labels_at
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.prototypes import Prototypes, prototype_contrast, prototype_tag_loss
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.models.mean_teacher import MeanTeacher
from endotransfer.pseudo_labels.rules import veto

WITHIN, ACROSS = 0.25, 0.5  # shares of the contrast within each domain, and of source pixels with target prototypes


class WdassConfig(Strict):
    """Weights of 0 leave a term out."""

    contrast_weight: float = Field(1.0, ge=0)
    tag_weight: float = Field(1.0, ge=0)  # of the tag loss on similarities to prototypes
    temperature: float = Field(0.1, gt=0)
    confidence: float = Field(0.95, ge=0, lt=1)  # of the teacher, from which on a pixel is labelled
    start: float = Field(1 / 15, ge=0, le=1)  # share of all steps after which the target's terms count
    fill_normal: bool = True  # images tagged normal are labelled normal everywhere
    prototype_momentum: float = Field(0.9, ge=0, lt=1)
    teacher_momentum: float = Field(0.99, ge=0, lt=1)


class Wdass(Method):
    name = "wdass"
    summary = "WDASS: pixels drawn to class prototypes of both domains, and image tags on the nearest pixel"
    Config: ClassVar[type[Strict]] = WdassConfig
    config: WdassConfig
    teacher: MeanTeacher
    source_prototypes: Prototypes
    target_prototypes: Prototypes

    def networks(self) -> dict[str, nn.Module]:
        segmenter, config = self.plain_segmenter(), self.config
        networks: dict[str, nn.Module] = {
            "segmenter": segmenter,
            "teacher": MeanTeacher(segmenter, config.teacher_momentum),
        }
        if self._uses_prototypes():
            for domain in ("source", "target"):
                networks[f"{domain}_prototypes"] = Prototypes(
                    self.task.classes, segmenter.feature_channels, config.prototype_momentum
                )
        return networks

    def _uses_prototypes(self) -> bool:
        return bool(self.config.contrast_weight or (self.config.tag_weight and self.task.tags))

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if self.progress.step < self.config.start * self.progress.steps:
            return terms
        taught: SegOutput = self.teacher(target.images, domain="target")
        labels = self.labels_of(target, taught)
        logits = on_target.at(target.images.shape[-2:])
        # The sum over confident pixels by the number of ALL pixels: a few confident ones at first count little.
        pixels = labels[0].numel()
        terms["segmentation_target"] = segmentation(logits, labels, reduction="sum") / pixels
        if not self._uses_prototypes():
            return terms
        return terms | self.prototype_terms(source, target, on_source, on_target, taught.features, labels)

    def labels_of(self, target: TargetBatch, taught: SegOutput) -> Tensor:
        """The teacher's confident labels [B, H, W], and what tags say of normal images."""
        logits = at_least_float32(taught.at(target.images.shape[-2:]))
        confidence, labels = logits.softmax(1).max(1)
        labels = torch.where(confidence >= self.config.confidence, labels, IGNORE)
        if not self.config.fill_normal or target.tags is None:
            return labels
        return veto(labels, target.tags, fill_normal=True)

    def prototype_terms(
        self, source: SourceBatch, target: TargetBatch, on_source: SegOutput, on_target: SegOutput,
        taught: Tensor, labels: Tensor,
    ) -> dict[str, Tensor]:  # fmt: skip
        """Contrast and tag loss; `taught`: the teacher's features, which the target's prototypes are made of."""
        config, size = self.config, taught.shape[-2:]
        features, masks = on_source.features[: len(source.masks)], labels_at(source.masks, size)
        labels = labels_at(labels, size)
        self.source_prototypes.update(features, masks)
        self.target_prototypes.update(taught, labels)
        terms: dict[str, Tensor] = {}
        if config.contrast_weight:
            of_source = WITHIN * self._contrast(self.source_prototypes, features, masks)
            of_target = WITHIN * self._contrast(self.target_prototypes, on_target.features, labels)
            across = ACROSS * self._contrast(self.target_prototypes, features, masks)
            terms["contrast"] = config.contrast_weight * (of_source + of_target + across)
        if config.tag_weight and target.tags is not None:
            prototypes = self.target_prototypes
            similarities = prototypes.similarities(on_target.features, config.temperature)
            terms["prototype_tags"] = config.tag_weight * prototype_tag_loss(similarities, target.tags, prototypes.seen)
        return terms

    def _contrast(self, prototypes: Prototypes, features: Tensor, labels: Tensor) -> Tensor:
        similarities = prototypes.similarities(features, self.config.temperature)
        return prototype_contrast(similarities, labels, prototypes.seen)
