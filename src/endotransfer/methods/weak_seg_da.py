"""WeakSegDA: Paul, Tsai, Schulter, Roy-Chowdhury, Chandraker, "Domain Adaptive Semantic Segmentation Using Weak
Labels", ECCV 2020.  Image-level labels of the target say which classes to find, and whose features to align.

Faithful: an image's score of a class is the sigmoid of the smooth maximum (k = 1) of its logits, and learns the weak
labels by binary cross-entropy, with weight 0.2 where they are true and 0.01 where they are the model's own (scores
above 0.2); features are pooled by each class's attention, and a critic a class (three layers as wide as the features)
tells domains apart by them, only where the class is present; weights 0.001, LtA's critic on softmax maps beside it,
Adam at 1e-4 for all critics, and a start from a segmenter that knows the source.
Designed here: tags make the weak labels of a lesion task: normal tissue is in every image, and the lesion where the tag
says so; on the source any pixel of the mask makes a class present (the release asks for a tenth of its usual area);
features are those of the shared DeepLab-v3's pixel classifier in place of the backbone's; a short warm-up stands for
the trained segmenter; where images carry tags, S1 learns from those of both domains.
Left out: dropout on the logits before scoring, translated source images, and weak labels that are points.
"""

from itertools import chain
from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput, SourceBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.adversarial import fool, tell_apart
from endotransfer.losses.size_constraint import class_fractions
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.losses.weak_labels import (
    attention_pooling,
    class_critic_loss,
    class_fooling_loss,
    smooth_max,
    weak_label_loss,
    weak_labels,
)
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Stage, TaskInfo, after_warm_up
from endotransfer.models.critics.class_critics import ClassCritics
from endotransfer.models.critics.strided_critics import SoftmaxCritic


class WeakSegDaConfig(Strict):
    """A weight of 0 leaves a term and its critics out."""

    warmup_epochs: int = Field(1, ge=0)  # before anything is transferred
    tag_weight: float = Field(0.2, ge=0)  # of the weak labels' loss, where tags make them
    pseudo_weight: float = Field(0.01, ge=0)  # and where the model does
    threshold: float = Field(0.2, ge=0, le=1)  # of a score, above which the model takes a class for present
    class_weight: float = Field(0.001, ge=0)  # of fooling the class critics
    weight: float = Field(0.001, ge=0)  # of fooling the critic of softmax maps
    critic_lr: float = Field(1e-4, gt=0)


class WeakSegDa(Method):
    name = "weak_seg_da"
    summary = "WeakSegDA: image scores of each class learn the tags; critics align each class's features"
    revision = 2
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}}
    records_steps = True
    Config: ClassVar[type[Strict]] = WeakSegDaConfig
    config: WeakSegDaConfig
    critic: SoftmaxCritic
    class_critics: ClassCritics

    def __init__(self, task: TaskInfo, config: WeakSegDaConfig) -> None:
        super().__init__(task, config)
        if critics := tuple(name for name in ("critic", "class_critics") if hasattr(self, name)):
            self.phases = {"net": ("segmenter",), "critic": critics}  # type: ignore[misc]

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        networks: dict[str, nn.Module] = {"segmenter": segmenter}
        if self.config.weight:
            networks["critic"] = SoftmaxCritic(self.task.classes)
        if self.config.class_weight:
            networks["class_critics"] = ClassCritics(self.task.classes, segmenter.feature_channels)
        return networks

    def stages(self) -> list[Stage]:
        adapt = Stage("adapt", self.task.epochs, tuple(self.phases))
        return after_warm_up(self.config.warmup_epochs, adapt, self.task.tags)

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase != "critic":
            return None
        parameters = chain.from_iterable(self.get_submodule(name).parameters() for name in self.phases["critic"])
        return Adam(parameters, lr=self.config.critic_lr, betas=(0.9, 0.99))

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            return self._critic_terms(memo)
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        source_logits, target_logits = on_source.at(source.images.shape[-2:]), on_target.at(target.images.shape[-2:])
        terms = source_terms(source, on_source, source_logits) | target_tag_term(target, on_target)
        scores = smooth_max(on_target.logits)
        present = weak_labels(scores, target.tags, self.config.threshold)
        if weight := self.config.pseudo_weight if target.tags is None else self.config.tag_weight:
            terms["weak_labels"] = weight * weak_label_loss(scores, present)
        if self.config.weight:
            terms["adversarial"] = self.config.weight * fool(self.critic, memo, source_logits, target_logits)
        return terms | self._class_term(source, on_source, on_target, present, memo)

    def _class_term(
        self, source: SourceBatch, on_source: SegOutput, on_target: SegOutput, present: Tensor, memo: Memo
    ) -> dict[str, Tensor]:
        """Fooling the class critics; `memo` keeps what they are to tell apart in their own phase."""
        if not self.config.class_weight:
            return {}
        masked = slice(len(source.masks))
        of_source = attention_pooling(on_source.features[masked].detach(), on_source.logits[masked])
        of_target = attention_pooling(on_target.features, on_target.logits)
        in_source = class_fractions(source.masks, self.task.classes) > 0
        memo["classes"] = ((of_source, in_source), (of_target.detach(), present))
        fooled = class_fooling_loss(self.class_critics(of_target), present)
        return {"adversarial_classes": self.config.class_weight * fooled}

    def _critic_terms(self, memo: Memo) -> dict[str, Tensor]:
        terms = {}
        if self.config.weight:
            terms["critic"] = 0.5 * tell_apart(self.critic, memo)
        if self.config.class_weight:
            source, target = ((self.class_critics(features), present) for features, present in memo["classes"])
            terms["critic_classes"] = class_critic_loss(source, target)
        return terms
