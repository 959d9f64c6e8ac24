"""Tag transfer: what goes beyond the paper (`semantic_transfer`), for a target whose images carry tags.

The target's tags say which images have no lesion and, with local features, where in the others it is
(pseudo_labels/tag_labellers.py, chosen once when the method is built); a mean teacher labels and predicts; every term
keeps to the scale of the others.

Without tags nothing tells how far a pseudo-label may be believed: it is careful self-training after a long warm-up.
A network that learns from scratch has seen no tissue but the source's; then source classes are pasted onto target
images, whose rest the teacher labels in the same step (pseudo_labels/mixed_lesson.py, as in DACS): in every such image
some pixels are known, and they stand before tissue of the target.  Pretrained features lose by it.
"""

from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SourceBatch, SourceSet, TargetBatch
from endotransfer.config import Strict
from endotransfer.errors import ConfigError
from endotransfer.losses.adversarial import fool, tell_apart
from endotransfer.losses.centroids import DomainCentroids
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.supervised_terms import source_terms
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Stage, after_warm_up
from endotransfer.models.critics.strided_critics import Discriminator
from endotransfer.models.mean_teacher import MeanTeacher
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.labeller_choice import LesionLabeller
from endotransfer.pseudo_labels.mixed_lesson import Lesson, mixed, strongly, taught
from endotransfer.pseudo_labels.place_prior import PlacePrior
from endotransfer.pseudo_labels.portion import portion
from endotransfer.pseudo_labels.rules import TagRule
from endotransfer.pseudo_labels.tag_labellers import LocalSettings, LocalTagLabeller, TagLabeller, ThresholdTagLabeller
from endotransfer.pseudo_labels.target_set import TargetSet

Untagged = Literal["auto", "mixtures", "thresholds"]
PORTION = (0.25, 0.05, 0.55)  # of the dataset thresholds: first, more each epoch, last; the paper's
GAMMA, ALPHA = 0.7, 1.0  # Algorithm 3 and Eq. 7, as in the paper
CRITIC_LR = 1e-4  # as in the paper's method
WARM_UP_EPOCHS = 1  # on the source alone, before anything is labelled
UNTAGGED_WARMUP = 0.5  # share of all epochs, where thresholds label without tags
UNTAGGED_MU = 0.0001  # mu at most where there are no tags: nothing holds rare classes against a pull on few pixels


class TagTransferConfig(Strict):
    """Weights of 0 leave a term out."""

    untagged: Untagged = "auto"  # how it learns without tags; auto: by thresholds, from scratch from mixtures
    eta: float = Field(0.001, ge=0)  # of the adversarial term, Eq. 6
    mu: float = Field(0.01, ge=0)  # of the centroid alignment, Eq. 7
    lesion_labeller: LesionLabeller = "auto"  # who labels images tagged lesion; auto: the first pass decides
    handover: float = Field(0.5, ge=0, le=1)  # the segmenter's share in splitting such an image, in the last pass
    place_prior: PlacePrior = "auto"  # whether that layer is told where source lesions lie; auto: their looks decide
    fill_normal: bool = True  # images tagged normal are labelled normal everywhere
    balance_by_tag: bool = True  # target loss averaged by kind of image instead of by pixel
    tag_head_weight: float = Field(0.01, ge=0)  # of S1's loss on the target's tags, with local features
    tag_weight: float = Field(0.1, ge=0)  # of the loss of tags on pixels, without local features
    missed_weight: float = Field(0.03, ge=0)  # of the loss on lesions that a segmenter labelling alone misses
    teacher_momentum: float | None = Field(0.99, ge=0, lt=1)  # None: no teacher


class TagTransfer(Method):
    name = "tag_transfer"
    summary = "beyond the paper: tags and local features label the target, a mean teacher predicts"
    proposed = True
    phases: ClassVar[dict[str, tuple[str, ...]]] = {"net": ("segmenter",), "critic": ("critic",)}
    records_steps = True
    Config: ClassVar[type[Strict]] = TagTransferConfig
    config: TagTransferConfig
    critic: Discriminator
    centroids: DomainCentroids
    labeller: TagLabeller

    def networks(self) -> dict[str, nn.Module]:
        config, segmenter = self.config, self.plain_segmenter()
        parts: dict[str, nn.Module | None] = {
            "segmenter": segmenter,
            "critic": Discriminator(self.task.classes) if self._has_critic else None,
            "centroids": self._centroids(segmenter.feature_channels) if config.mu and not self._mixes else None,
            "teacher": None if config.teacher_momentum is None else MeanTeacher(segmenter, config.teacher_momentum),
            "labeller": self._choose_labeller(),
        }
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def _mixes(self) -> bool:
        """Whether it learns from mixtures."""
        asked = {"auto": self.task.classes == 2 and not self._pretrained, "mixtures": True, "thresholds": False}
        return not self.task.tags and asked[self.config.untagged]

    @property
    def _pretrained(self) -> bool:
        return self.task.model.pretrained or self.task.model.weights is not None

    @property
    def _has_critic(self) -> bool:
        return bool(self.config.eta) and not self._mixes

    def _centroids(self, channels: int) -> DomainCentroids:
        """Each class's own mean, as a moving average: lengths that follow neither the lesion's area nor the epoch."""
        return DomainCentroids(
            self.task.classes, channels, GAMMA, ALPHA, average="class_pixels", history="moving_average"
        )  # fmt: skip

    def _choose_labeller(self) -> TagLabeller:
        """Local features that nobody has trained tell nothing: without pretrained weights thresholds label alone."""
        config, model = self.config, self.task.model
        if self.task.tags and self._pretrained and config.lesion_labeller != "dataset_threshold":
            shared = {name: getattr(config, name) for name in LocalSettings.__dataclass_fields__}
            return LocalTagLabeller(model, LocalSettings(**shared))
        if config.lesion_labeller == "local":
            raise ConfigError(
                "method.lesion_labeller is local, which needs tags and pretrained weights; see to these, or leave out "
                "method.lesion_labeller."
            )
        return ThresholdTagLabeller(config.balance_by_tag, config.tag_weight)

    def stages(self) -> list[Stage]:
        warm_up = WARM_UP_EPOCHS
        if not self.task.tags and not self._mixes:  # what a class looks like only the segmenter knows: one is soon lost
            warm_up = max(warm_up, round(UNTAGGED_WARMUP * self.task.epochs))
        phases = ("net", "critic") if self._has_critic else ("net",)
        whole = not self._mixes
        transfer = Stage("transfer", self.task.epochs, phases, target_pass=whole, recordable=whole)
        # Of the source alone: the first pass judges what the segmenter knows without the target's tags.
        return after_warm_up(warm_up, transfer, tags=False)

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        assert target is not None
        self.labeller.prepare(source, target)

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase == "critic":
            return Adam(self.critic.parameters(), lr=CRITIC_LR, betas=(0.9, 0.99))
        return None

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Label the whole target set, once an epoch."""
        number = self.progress.stage_epoch
        image_labeller = self.labeller.for_pass(number, passed=number / max(1, self.stages()[-1].epochs - 1))
        summary = label_target_set(
            self.predict_target, target, self.task.classes, portion(number, *PORTION),
            rules=[TagRule()] if self.config.fill_normal else [], image_labeller=image_labeller, device=self.device,
        )  # fmt: skip
        return summary.figures() | self.labeller.take(image_labeller, number)

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            return {"critic": tell_apart(self.critic, memo)}
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        return self._on_mixtures(source, target) if self._mixes else self._on_whole_images(source, target, memo)

    def _on_whole_images(self, source: SourceBatch, target: TargetBatch, memo: Memo) -> dict[str, Tensor]:
        on_source, on_target = self.forward_both(source.images, target.images)
        source_logits, target_logits = (
            output.at(images.shape[-2:]) for output, images in ((on_source, source.images), (on_target, target.images))
        )
        terms = source_terms(source, on_source, source_logits)
        terms |= self.labeller.target_terms(target, on_target, target_logits)
        if self._has_critic:
            terms["adversarial"] = self.config.eta * fool(self.critic, memo, source_logits, target_logits)
        if self.config.mu and target.stored is not None:
            masked = on_source.features[: len(source.masks)]
            aligned = self.centroids(masked, source.masks, on_target.features, target.stored)
            terms["centroids"] = (self.config.mu if self.task.tags else min(self.config.mu, UNTAGGED_MU)) * aligned
        return terms

    def _on_mixtures(self, source: SourceBatch, target: TargetBatch) -> dict[str, Tensor]:
        lesson = self._mixed(source, target)
        on_source, on_mixed = self.forward_both(source.images, lesson.images)
        learnt = segmentation(on_mixed.at(lesson.images.shape[-2:]), lesson.labels, weights=lesson.weights)
        return source_terms(source, on_source) | {"segmentation_mixed": learnt}

    @torch.no_grad()
    def _mixed(self, source: SourceBatch, target: TargetBatch) -> Lesson:
        said = self.predict_target(target.images).at(target.images.shape[-2:])
        lesson = mixed(source, taught(target.images, said), target.keys, self.progress.step, self.task.classes)
        return replace(lesson, images=strongly(lesson.images, target.keys, self.progress.step, "mixed"))

    def findings(self) -> dict[str, object]:
        return self.labeller.findings()
