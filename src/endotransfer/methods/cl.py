"""CL (curriculum learning): Zhang, David, Gong, "Curriculum Domain Adaptation for Semantic Segmentation of Urban
Scenes", ICCV 2017.  Easy questions first: how much of a target image each class covers, and of which class its surest
super-pixels are.  The answers then supervise the pixels.

Faithful: label distributions of target images are predicted from descriptors by a regression on the source, before
training; cross-entropy against the sharpened mean prediction (power 5), weight 0.1; a linear classifier, fitted to the
source's super-pixels before training, labels those of the target; the surest 60 % of an image's are landmarks all
through, weighted by mean area / own area and by the inverse count of their class in the image.
Designed here: the regression is a ridge on the pooled features of the backbone as it is before training, each domain
standardised by itself (chosen on the phantom's target masks; colours and textures did little better than a constant);
the classifier is a linear discriminant, classes equally likely, on the local features of the pretrained backbone
(models/local_features.py; better than its last map on Kvasir-SEG to EDD2020), where the original has support vector
machines on another network's features; both need pretrained weights; SLIC in place of linear spectral clustering;
logarithms in place of clipped logits; where tags say normal the distribution and every landmark are normal, where they
say lesion the regression is that of images with lesions, and S1 learns the tags of both domains.
Left out: class weights on the source, which no other row here has.
"""

from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import NORMAL, Batch, PassBatch, SourceSet, TargetBatch
from endotransfer.config import Strict
from endotransfer.distributed import sum_over_processes
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.distribution_regression import DistributionRegression
from endotransfer.losses.label_distribution import counts_by_row, distribution_loss, label_distributions
from endotransfer.losses.landmarks import confident_landmarks, landmark_weights, region_labels, region_means
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Needs, Stage, after_warm_up
from endotransfer.models.descriptor import FrozenDescriptor
from endotransfer.models.local_features import LocalFeatures
from endotransfer.pseudo_labels.region_classifier import RegionClassifier
from endotransfer.pseudo_labels.target_set import TargetSet


class CLConfig(Strict):
    """A weight of 0 leaves its question out."""

    warmup_epochs: int = Field(1, ge=0)  # before anything is transferred
    distribution_weight: float = Field(0.1, ge=0)
    sharpness: float = Field(5.0, gt=0)  # the power
    ridge: float = Field(3.0, gt=0)  # penalty of the regression, in units of its inputs' variance
    landmark_weight: float = Field(1.0, ge=0)
    landmark_share: float = Field(0.6, gt=0, le=1)  # of an image's super-pixels


class CL(Method):
    name = "cl"
    summary = "curriculum adaptation: predicted label distributions and sure super-pixels supervise the target"
    revision = 2
    needs = Needs(superpixels=True)
    Config: ClassVar[type[Strict]] = CLConfig
    config: CLConfig
    descriptor: FrozenDescriptor
    regression: DistributionRegression
    local_features: LocalFeatures
    classifier: RegionClassifier

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        networks: dict[str, nn.Module] = {"segmenter": segmenter}
        if self.config.distribution_weight:
            networks["descriptor"] = FrozenDescriptor(segmenter)
            networks["regression"] = DistributionRegression(segmenter.backbone.channels, self.task.classes)
        if self.config.landmark_weight:
            networks["local_features"] = local_features = LocalFeatures(self.task.model)
            networks["classifier"] = RegionClassifier(local_features.channels, self.task.classes)
        return networks

    def stages(self) -> list[Stage]:
        landmarks, epochs = self.config.landmark_weight > 0, self.task.epochs
        curriculum = Stage("curriculum", epochs, target_pass=landmarks, pass_every=epochs)  # landmarks stay as they are
        return after_warm_up(self.config.warmup_epochs, curriculum, self.task.tags)

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        """Regression and classifier, before the first step: a resumed run finds them in its checkpoint."""
        if self.config.landmark_weight:
            self.classifier.fit(self._source_regions(source))
        if self.config.distribution_weight:
            assert target is not None
            self._fit_regression(source, target)

    def _source_regions(self, source: SourceSet) -> Iterator[tuple[Tensor, Tensor]]:
        """Descriptions [N, C] and classes [N] of super-pixels, a batch of images at a time."""
        for batch in source:
            regions = source.superpixels(batch.keys)
            described, _ = region_means(self.local_features(batch.images), regions)
            yield described.flatten(0, 1), region_labels(batch.masks, regions, self.task.classes).flatten()

    def _fit_regression(self, source: SourceSet, target: TargetSet) -> None:
        seen = [
            (self.descriptor(batch.images[: len(batch.masks)]), label_distributions(batch.masks, self.task.classes))
            for batch in source
        ]
        descriptors, distributions = (torch.cat(part) for part in zip(*seen, strict=True))
        of_target = (self.descriptor(batch.images) for batch in target)
        self.regression.fit(descriptors, distributions, of_target, self.config.ridge)

    def wants_superpixels(self) -> bool:
        return self.config.landmark_weight > 0

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """The landmarks of every target image, stored as its map; returns the share of pixels that got each class."""
        counts = torch.zeros(self.task.classes + 1, dtype=torch.float64, device=self.device)
        for batch in target:
            labels = self.landmarks(batch, target.superpixels(batch.keys))
            target.store(batch.keys, labels)
            counts += counts_by_row(labels.long().clamp(max=self.task.classes).view(1, -1), len(counts))[0]
        counts = sum_over_processes(counts)
        shares = (counts / counts.sum().clamp(min=1)).tolist()
        return {f"landmarks_{name}": share for name, share in enumerate(shares[:-1])}

    def landmarks(self, batch: PassBatch, regions: Tensor) -> Tensor:
        """Labels [B, H, W] of the super-pixels [B, H, W] that the classifier is surest of, IGNORE elsewhere."""
        described, areas = region_means(self.local_features(batch.images), regions)
        scores: Tensor = self.classifier(described)
        if batch.tags is not None:  # in an image tagged normal the surest are those that look so
            lesion = torch.arange(self.task.classes, device=scores.device) != NORMAL
            scores = scores.masked_fill((batch.tags == NORMAL)[:, None, None] & lesion, -torch.inf)
        return confident_landmarks(scores, areas, regions, self.config.landmark_share)

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if self.config.distribution_weight:
            loss = distribution_loss(on_target.logits, self.expected(target), self.config.sharpness)
            terms["distribution"] = self.config.distribution_weight * loss
        if target.stored is not None and target.superpixels is not None:
            weights = landmark_weights(target.stored, target.superpixels, self.task.classes)
            loss = segmentation(on_target.at(target.images.shape[-2:]), target.stored, weights=weights)
            terms["landmarks"] = self.config.landmark_weight * loss
        return terms

    def findings(self) -> dict[str, object]:
        if self.task.model.pretrained or self.task.model.weights:
            return {}
        remark = (
            "cl judges target images by features of the pretrained backbone, and this one has no pretrained weights: "
            "its labels mislead; give model.weights, or read nothing into its row."
        )
        return {"remarks": [remark]}

    def expected(self, target: TargetBatch) -> Tensor:
        """The label distributions [B, K] that the regression and the tags give the target's images."""
        distributions: Tensor = self.regression(self.descriptor(target.images), target.tags)
        return distributions
