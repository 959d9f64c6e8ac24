"""FCNs in the Wild: Hoffman, Wang, Yu, Darrell, "FCNs in the Wild: Pixel-level Adversarial and Constraint-based
Adaptation", 2016.  A critic of single feature cells; sizes of classes on the target follow the source's.

Faithful: the critic's layers; the encoder's confusion loss and its ramp; each present class takes between its average
and its 90 % quantile of a source image (slack 2 below), absent ones nothing; the loss is KL from the nearest
distribution that does so, weight 0.1, its gradient a tenth for large classes; adaptation starts from a network that
segments the source.
Designed here: the critic sees the features of the shared DeepLab-v3's pixel classifier (ASPP), and its Adam has 10
times the segmenter's rate (1e-4 by default); the first quarter of the epochs trains the source alone, and 1,200 steps
of ramp are a share of the rest, as of the original's 2,000; of two classes neither's gradient is scaled: normal tissue
is always large and lesions often are, so nothing would be left; sizes are counted over source images that contain the
class; the dual is solved at the network's own resolution, coarser than the original's every fourth pixel;
bounds that contradict each other give way; where images carry tags, a target image's tag says whether a lesion is
present, normal tissue may take what lesions leave, and S1 learns from the tags of both domains.  `penalty`: squared
excess in place of the latent distribution, an approximation.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import NORMAL, Batch, SourceSet
from endotransfer.config import RawConfig, Strict
from endotransfer.losses import size_constraint as sizes
from endotransfer.losses.domain_confusion import confusion_loss, domain_loss, ramp, scores_of
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Stage, TaskInfo, after_warm_up_share
from endotransfer.models.critics.cell_critics import CellCritic
from endotransfer.pseudo_labels.target_set import TargetSet

FEW = 2  # classes, of which none is large beside the others


class WildConfig(Strict):
    """A weight of 0 leaves its part out."""

    weight: float = Field(1.0, ge=0)  # of the confusion loss
    size_weight: float = Field(0.1, ge=0)
    sizes: Literal["dual", "penalty"] = "dual"
    warmup_share: float = Field(0.25, ge=0, lt=1)  # of the epochs, without transfer
    ramp: float = Field(0.6, gt=0)  # share of the other steps over which the critic's weight rises
    slack: float = Field(2.0, ge=0)  # largest multiplier of a lower bound
    iterations: int = Field(50, ge=1)  # of the dual ascent
    large: float = Field(0.1, ge=0, le=1)  # a class whose upper bound exceeds this is large
    large_gradient: float = Field(0.1, ge=0, le=1)  # and its gradient is scaled by this, where classes are many
    critic_lr: float = Field(1e-3, gt=0)


class Wild(Method):
    name = "wild"
    summary = "FCNs in the Wild: a critic of single feature cells, and class sizes as on the source"
    revision = 2
    presets: ClassVar[dict[str, RawConfig]] = {"dual": {}, "penalty": {"sizes": "penalty"}}
    Config: ClassVar[type[Strict]] = WildConfig
    config: WildConfig
    critic: CellCritic
    size_statistics: Tensor  # [3, K]: alpha, delta, gamma

    def __init__(self, task: TaskInfo, config: WildConfig) -> None:
        super().__init__(task, config)
        if hasattr(self, "critic"):
            self.phases = {"net": ("segmenter",), "critic": ("critic",)}  # type: ignore[misc]
        nowhere = torch.full((1, task.classes), torch.nan)
        self.register_buffer("size_statistics", sizes.size_statistics(nowhere))

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        networks: dict[str, nn.Module] = {"segmenter": segmenter}
        if self.config.weight:
            networks["critic"] = CellCritic(segmenter.feature_channels, dropout=self.task.model.dropout > 0)
        return networks

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        fractions = [sizes.class_fractions(batch.masks, self.task.classes) for batch in source]
        statistics = sizes.size_statistics(torch.cat(fractions))
        if self.task.tags:
            statistics[:, NORMAL] = statistics.new_tensor(sizes.FREE)
        self.size_statistics.copy_(statistics)

    def stages(self) -> list[Stage]:
        transfer = Stage("transfer", self.task.epochs, tuple(self.phases))
        return after_warm_up_share(self.config.warmup_share, transfer, self.task.tags)

    def optimiser(self, phase: str) -> Optimizer | None:
        return Adam(self.critic.parameters(), lr=self.config.critic_lr) if phase == "critic" else None

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            return {"critic": domain_loss(scores_of(self.critic, memo["features"]))}
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if self.config.weight:
            risen = ramp(self.progress.stage_done, self.config.ramp)
            features = on_source.features, on_target.features
            memo["features"] = features[0].detach(), features[1].detach()
            terms["adversarial"] = self.config.weight * risen * confusion_loss(scores_of(self.critic, features))
        if self.config.size_weight:
            terms["sizes"] = self.config.size_weight * self.size_loss(on_target.logits, target.tags)
        return terms

    def size_loss(self, logits: Tensor, tags: Tensor | None) -> Tensor:
        """What the target's predictions [B, K, h, w] cost for sizes that the source does not have."""
        config, (alpha, delta, gamma) = self.config, self.size_statistics
        present = sizes.present_classes(logits, alpha, tags)
        lower, upper = sizes.size_bounds(present, delta, gamma)
        if self.task.classes > FEW:
            logits = sizes.scale_gradient(logits, torch.where(gamma > config.large, config.large_gradient, 1.0))
        if config.sizes == "penalty":
            return sizes.size_penalty(logits, present, lower, upper)
        nearest = sizes.latent_distribution(logits, present, lower, upper, config.slack, config.iterations)
        return sizes.latent_loss(logits, nearest)
